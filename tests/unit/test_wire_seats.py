"""Connections of those who are known: idle ones give way to analysts who have fewer, and questions never do."""

from __future__ import annotations

import re

import pytest

from tacit.faces.server.wire.faults import WireFault
from tacit.faces.server.wire.seats import Seat, Seats
from tacit.faces.server.wire.spans import seconds, spelled


class House:
    """Seats, and who was ended, in turn."""

    def __init__(self, at_once: int) -> None:
        self.seats, self.ended = Seats(at_once), list[str]()

    def take(self, analyst: str, *, idle: float | None = None) -> Seat:
        seat = self.seats.take(analyst, lambda: self.ended.append(f"{analyst} {idle}"))
        seat.idle_since = idle
        return seat


def test_whoever_comes_takes_the_place_of_the_longest_idle_of_who_has_most() -> None:
    house = House(6)
    for analyst, idle in (("ana", 5), ("ana", 3), ("ana", 9), ("ben", 1), ("ben", 2), ("cy", 0)):
        house.take(analyst, idle=idle)
    house.take("dan")
    assert house.ended == ["ana 3"]
    assert len(house.seats) == 6


def test_a_question_that_runs_is_never_ended() -> None:
    house = House(4)
    for analyst in ("ana", "ana", "ben", "ben"):
        house.take(analyst)
    with pytest.raises(WireFault, match="too many clients"):
        house.take("cy")
    assert house.ended == []


def test_nobody_pushes_out_who_has_no_more_than_they_would_have() -> None:
    house = House(2)
    house.take("ana", idle=1)
    house.take("ben", idle=1)
    with pytest.raises(WireFault, match="too many clients"):
        house.take("ana")
    with pytest.raises(WireFault, match="too many clients"):
        house.take("cy")
    assert house.ended == []


def test_one_analyst_has_half_at_most_and_gets_places_back() -> None:
    house = House(6)
    seats = [house.take("ana", idle=1) for _ in range(3)]
    with pytest.raises(WireFault, match="too many connections of ana: 3"):
        house.take("ana")
    house.seats.leave(seats[0])
    house.seats.leave(seats[0])
    house.take("ana")
    assert len(house.seats) == 3


@pytest.mark.parametrize(
    ("written", "span", "shown"),
    [
        ("0", 0, "0"), ("5000", 5, "5s"), ("'90s'", 90, "90s"), ("1min", 60, "1min"), ("60min", 3600, "1h"),
        ("1.5h", 5400, "90min"), (" 2 d ", 172_800, "2d"), ("150", 0.15, "150ms"), ("20us", 2e-5, "0"),
    ],
)  # fmt: skip
def test_spans_are_read_and_shown_as_postgresql_does(written: str, span: float, shown: str) -> None:
    assert seconds(written) == pytest.approx(span)
    assert spelled(seconds(written)) == shown


@pytest.mark.parametrize("wrong", ["", "x", "-1", "5 weeks", "1e9", "9" * 12, "nan", "5s5", "1S"])
def test_what_is_no_span_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=re.escape(wrong) or "^$"):
        seconds(wrong)
