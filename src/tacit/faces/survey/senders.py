"""How many reports one sender may send: counted in memory under a key nobody keeps, and never beside a report."""

from __future__ import annotations

import hashlib
import ipaddress
import math
import threading
import time
from collections.abc import Callable

from tacit.noise import SYSTEM

HOUR = 3600
PER_HOUR = 60  # enough for a household, a class or a small office behind one address
MOST = 100_000  # senders remembered


class Senders:
    """For each address a bucket of reports that fills up again within the hour.

    An address is kept as a hash under a random key of this process. It is forgotten when its bucket is full again.
    """

    def __init__(self, per_hour: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_hour, self._clock = per_hour, clock
        self._key = SYSTEM.draw(32).tobytes()
        self._lock = threading.Lock()
        self._left: dict[bytes, tuple[float, float]] = {}  # how many are left, and when that was

    def wait(self, address: str) -> int:
        """Take one report off the sender's bucket; for how many seconds they must wait if there is none, else 0."""
        if not self._per_hour:
            return 0
        sender, now = self._sender(address), self._clock()
        with self._lock:
            left = self._filled(sender, now)
            if left < 1:
                return math.ceil((1 - left) * HOUR / self._per_hour)
            if len(self._left) >= MOST:
                self._forget(now)
            self._left[sender] = left - 1, now
        return 0

    def waiting(self, address: str) -> int:
        """For how many seconds a sender must wait, if their bucket is empty, else 0. Takes nothing off it."""
        if not self._per_hour:
            return 0
        with self._lock:
            left = self._filled(self._sender(address), self._clock())
        return 0 if left >= 1 else math.ceil((1 - left) * HOUR / self._per_hour)

    def _filled(self, sender: bytes, now: float) -> float:
        left, at = self._left.get(sender, (float(self._per_hour), now))
        return min(self._per_hour, left + (now - at) * self._per_hour / HOUR)

    def _forget(self, now: float) -> None:
        """Forget those whose bucket is full again; and if that is nobody, whoever was longest ago."""
        full = [sender for sender in self._left if self._filled(sender, now) >= self._per_hour]
        for sender in full or sorted(self._left, key=lambda sender: self._left[sender][1])[: MOST // 10]:
            del self._left[sender]

    def _sender(self, address: str) -> bytes:
        return hashlib.blake2b(_network(address), key=self._key, digest_size=16).digest()


def _network(address: str) -> bytes:
    """An address of four bytes, or the first half of one of sixteen: the rest is one customer's to choose."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address.encode()
    if isinstance(parsed, ipaddress.IPv6Address):
        return parsed.ipv4_mapped.packed if parsed.ipv4_mapped else parsed.packed[:8]
    return parsed.packed
