"""The waiting room: whoever fills it loses their own places, and keeps nobody else out."""

from __future__ import annotations

import pytest

from tacit.faces.listening.waiting_room import WaitingRoom


def entered(room: WaitingRoom, *addresses: str) -> list[int]:
    """Who is cut off, by their number, while these come in one after the other."""
    cut: list[int] = []
    for number, address in enumerate(addresses):
        room.enter(address, lambda number=number: cut.append(number))
    return cut


def test_an_address_with_its_share_loses_the_one_that_waited_longest():
    assert entered(WaitingRoom(10, 2), "192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.1", "192.0.2.1") == [0, 2]


def test_a_full_room_takes_from_the_address_with_the_most():
    room = WaitingRoom(4, 3)
    assert entered(room, "192.0.2.9", "192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.7", "192.0.2.8") == [1, 2]
    assert len(room) == 4


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("", "", True),
        ("192.0.2.1", "192.0.2.2", False),
    ],
)
def test_addresses_of_one_network_are_one_address(one, other, same):
    assert entered(WaitingRoom(10, 1), one, other) == ([0] if same else [])


def test_a_place_is_given_back_once():
    room = WaitingRoom(10, 1)
    place = room.enter("192.0.2.1", lambda: None)
    with room.waiting("192.0.2.1", lambda: None):  # it took the place of the first
        room.leave(place)
        assert len(room) == 1
    room.leave(place)
    assert len(room) == 0
