"""One writer at a time, over threads, processes and forks of one host."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import LedgerError

# Two hosts that share one of these share neither SQLite's memory nor, always, a lock.
NETWORKED = frozenset({
    "9p", "afs", "ceph", "cifs", "davfs", "fuse.cephfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
    "gfs2", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs", "virtiofs",
})  # fmt: skip
MOUNTS = Path("/proc/self/mountinfo")


@contextmanager
def held(descriptor: int) -> Iterator[None]:
    """Hold the exclusive lock on an open file. Waiters are served in turn, which SQLite's own busy loop does not do."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        reason = errno.errorcode.get(error.errno or 0, "unknown")
        raise LedgerError(
            f"the ledger cannot be locked: {reason}", hint="keep the ledger on a local disk of this host"
        ) from None
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def refuse_network(directory: Path) -> None:
    """Refuse a directory on a network file system."""
    kind = filesystem(directory)
    if kind in NETWORKED:
        raise LedgerError(
            f"the ledger cannot be shared over {kind}: two hosts would not see each other's charges",
            hint="keep it on a local disk, or use a ledger in PostgreSQL",
        )


def filesystem(directory: Path) -> str:
    """The type of the file system `directory` is on, or nothing where the system does not say."""
    device = os.stat(directory).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    for line in lines:  # 36 35 98:0 /root /mountpoint options … - type source options
        before, _, after = line.partition(" - ")
        if before.split()[2] == wanted:
            return after.split()[0]
    return ""
