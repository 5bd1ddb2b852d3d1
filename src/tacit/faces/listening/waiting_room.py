"""Where connections wait until somebody is known behind them: a place for each, and room for all addresses."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

IN_ALL, OF_ONE_ADDRESS = 400, 100
_NETWORK = 64  # bits of an IPv6 address that are one subscriber's: the rest is theirs to choose


@dataclass(eq=False, slots=True)
class Place:
    """One connection that waits: where it comes from, and how to cut it off."""

    source: str
    cut: Callable[[], None]


@dataclass(slots=True)
class WaitingRoom:
    """So many connections that have not said, or not proved, whose they are. One event loop uses it.

    Who comes when it is full takes the place of the connection that has waited longest: among those of its own address
    where that has its share already, else among those of the address with the most. An honest client waits for
    milliseconds, so whoever fills the room loses their own places, and never keeps anybody else out.
    """

    in_all: int = IN_ALL
    of_one_address: int = OF_ONE_ADDRESS
    _waiting: dict[str, OrderedDict[Place, None]] = field(default_factory=dict)
    _count: int = 0

    def __len__(self) -> int:
        """How many wait."""
        return self._count

    def enter(self, address: str, cut: Callable[[], None]) -> Place:
        """Take a place; `cut` is called if another needs it."""
        place = Place(_source(address), cut)
        theirs = self._waiting.get(place.source, ())
        if len(theirs) >= self.of_one_address:
            self._make_room(place.source)
        elif self._count >= self.in_all:
            self._make_room(max(self._waiting, key=lambda source: len(self._waiting[source])))
        self._waiting.setdefault(place.source, OrderedDict())[place] = None
        self._count += 1
        return place

    def leave(self, place: Place) -> None:
        """Give a place back; one that was taken away already is passed over."""
        theirs = self._waiting.get(place.source, OrderedDict())
        if place in theirs:
            del theirs[place]
            self._count -= 1
            if not theirs:
                del self._waiting[place.source]

    @contextmanager
    def waiting(self, address: str, cut: Callable[[], None]) -> Iterator[None]:
        """A place for as long as the block lasts."""
        place = self.enter(address, cut)
        try:
            yield
        finally:
            self.leave(place)

    def _make_room(self, source: str) -> None:
        longest = next(iter(self._waiting[source]))
        self.leave(longest)
        longest.cut()


def _source(address: str) -> str:
    """Whom an address belongs to, as far as one can tell."""
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv4Address):
        return str(known)
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(ipaddress.ip_network((known, _NETWORK), strict=False))
