"""Run a piece of Python in a child process, and stop it at each system call it makes: to watch, to fail, to kill.

What strace does with `--inject`, without strace: the child is forked from a warm interpreter, so that one crash costs
milliseconds. Linux only; the tracer must be single-threaded, hence a program of its own.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_TRACEME, _SYSCALL, _SETOPTIONS, _GETREGSET, _SETREGSET, _GET_SYSCALL_INFO = 0, 24, 0x4200, 0x4204, 0x4205, 0x420E
_SYSGOOD, _EXITKILL = 1, 0x100000
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)

# Only what the experiments need to know by name; a kill needs no names.
NAMES = {
    "x86_64": {
        1: "write", 2: "open", 18: "pwrite64", 20: "writev", 74: "fsync", 75: "fdatasync", 77: "ftruncate",
        82: "rename", 87: "unlink", 257: "openat", 263: "unlinkat", 264: "renameat", 285: "fallocate", 296: "pwritev",
        316: "renameat2",
    },
    "aarch64": {
        64: "write", 68: "pwrite64", 66: "writev", 82: "fsync", 83: "fdatasync", 46: "ftruncate", 38: "renameat",
        35: "unlinkat", 56: "openat", 47: "fallocate", 70: "pwritev", 276: "renameat2",
    },
}.get(platform.machine(), {})  # fmt: skip
CAN_FAIL = platform.machine() == "x86_64"  # where we know how to replace a call by an error


class _Info(ctypes.Structure):
    _fields_ = (
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("ip", ctypes.c_uint64),
        ("sp", ctypes.c_uint64),
        ("nr", ctypes.c_uint64),
        ("args", ctypes.c_uint64 * 6),
    )


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


@dataclass(frozen=True, slots=True)
class Call:
    """A system call about to be made, or just made (then `result` is set)."""

    pid: int
    index: int
    name: str
    args: tuple[int, ...]
    result: int | None

    def memory(self, address: int, size: int) -> bytes:
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)

    def text(self, address: int) -> str:
        return self.memory(address, 512).split(b"\0")[0].decode()

    def path(self, descriptor: int) -> str:
        return os.readlink(f"/proc/{self.pid}/fd/{descriptor}")


KILL = "kill"
Visit = Callable[[Call], "str | int | None"]  # KILL, an errno to fail with, or None to let it pass


def run(work: Callable[[], None], visit: Visit) -> int:
    """Run `work` in a child; show each of its calls to `visit`, before and after. How many calls it made."""
    pid = _begin(work)
    index, failing = 0, None
    entered: Call | None = None
    for info in _stops(pid):
        if info.op == 1:
            index += 1
            entered = Call(pid, index, NAMES.get(info.nr, str(info.nr)), tuple(info.args), None)
            verdict = visit(entered)
            if verdict == KILL:
                os.kill(pid, signal.SIGKILL)
            elif isinstance(verdict, int):
                failing = verdict
                _set(pid, orig_rax=(1 << 64) - 1)  # no such call: the kernel does nothing
        elif failing is not None:
            _set(pid, rax=(1 << 64) - failing)
            failing = None
        elif entered is not None:
            returned = ctypes.c_int64(info.nr).value  # after the call the same word holds what it returned
            visit(Call(pid, index, entered.name, entered.args, returned))
    return index


def _begin(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        _libc.ptrace(_TRACEME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    if _libc.ptrace(_SETOPTIONS, pid, None, _SYSGOOD | _EXITKILL) != 0:
        code = ctypes.get_errno()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise OSError(code, "processes may not be traced here")
    return pid


def _stops(pid: int) -> Iterator[_Info]:
    """Let the child run from one stop at a system call to the next, until it is gone."""
    deliver = 0
    while True:
        _libc.ptrace(_SYSCALL, pid, None, deliver)
        _, status = os.waitpid(pid, 0)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            return
        at_a_call = os.WSTOPSIG(status) == signal.SIGTRAP | 0x80
        deliver = 0 if at_a_call else os.WSTOPSIG(status)
        if at_a_call:
            info = _Info()
            _libc.ptrace(_GET_SYSCALL_INFO, pid, ctypes.sizeof(info), ctypes.addressof(info))
            yield info


def _set(pid: int, *, rax: int | None = None, orig_rax: int | None = None) -> None:
    registers = (ctypes.c_uint64 * 27)()
    vector = _Vector(ctypes.addressof(registers), ctypes.sizeof(registers))
    _libc.ptrace(_GETREGSET, pid, 1, ctypes.addressof(vector))
    if rax is not None:
        registers[10] = rax
    if orig_rax is not None:
        registers[15] = orig_rax
    _libc.ptrace(_SETREGSET, pid, 1, ctypes.addressof(vector))
