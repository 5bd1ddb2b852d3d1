"""One sender's reports are counted, others' are not, and nobody's address is kept."""

from __future__ import annotations

import pytest

from tacit.faces.survey import senders
from tacit.faces.survey.senders import Senders


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_bucket_empties_and_fills_up_again_within_the_hour(clock: Clock) -> None:
    taken = Senders(4, clock=clock)
    assert [taken.wait("192.0.2.1") for _ in range(5)] == [0, 0, 0, 0, 900]
    assert taken.wait("192.0.2.2") == 0, "another sender"
    clock.now += 900
    assert [taken.wait("192.0.2.1") for _ in range(2)] == [0, 900]
    clock.now += 10 * 3600
    assert [taken.wait("192.0.2.1") for _ in range(5)] == [0, 0, 0, 0, 900], "no more than an hour's are saved up"


def test_a_refusal_takes_nothing(clock: Clock) -> None:
    taken = Senders(1, clock=clock)
    assert taken.wait("192.0.2.1") == 0
    for _ in range(50):
        assert taken.wait("192.0.2.1") > 0
    clock.now += 3600
    assert taken.wait("192.0.2.1") == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),  # one customer's network
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("fe80::1%eth0", "fe80::1%eth1", True),
    ],
)
def test_who_one_sender_is(clock: Clock, one: str, other: str, same: bool) -> None:
    taken = Senders(1, clock=clock)
    assert taken.wait(one) == 0
    assert (taken.wait(other) > 0) == same


def test_no_address_can_be_read_off_what_is_remembered(clock: Clock) -> None:
    one, other = Senders(3, clock=clock), Senders(3, clock=clock)
    for taken in (one, other):
        taken.wait("192.0.2.1")
    assert b"192.0.2.1" not in repr(vars(one)).encode()
    assert one._left.keys() != other._left.keys(), "under a key of its own"


def test_no_more_senders_are_remembered_than_there_is_room_for(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(senders, "MOST", 20)
    taken = Senders(2, clock=clock)
    for number in range(200):
        clock.now += 1
        assert taken.wait(f"192.0.2.{number}") == 0
        assert len(taken._left) <= 20
    clock.now += 3600
    assert taken.wait("198.51.100.1") == 0
    assert len(taken._left) == 1, "whose bucket is full again is forgotten"
