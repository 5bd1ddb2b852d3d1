"""What a device remembers, about what, and what it does not draw again."""

from __future__ import annotations

import numpy as np
import pytest

from support.sources import Seeded
from tacit import collect
from tacit.core import NOTHING, Bounds, Loss
from tacit.errors import InvalidParameter


def test_averaging_breaks_fresh_noise_and_not_a_remembered_report() -> None:
    protocol = collect.Direct.costing(Loss("0.5"), domain=10)
    days = 2000
    fresh = np.bincount([protocol.encode([7], Seeded(day))[0, 0] for day in range(days)], minlength=10)
    assert int(fresh.argmax()) == 7, "the attack works where nothing is remembered"
    device = collect.Device(protocol)
    told = {device.report(7) for _ in range(days)}
    assert len(told) == 1
    assert device.loss() == protocol.loss()


def test_every_new_value_is_paid_for_once() -> None:
    protocol = collect.Direct.costing(Loss("0.5"), domain=10)
    device = collect.Device(protocol)
    assert device.loss() == NOTHING
    for value in (1, 2, 1, 2, 3):
        device.report(value)
    assert device.loss() == protocol.loss() * 3


def test_numbers_that_the_protocol_cannot_tell_apart_are_drawn_once() -> None:
    """A temperature that trembles below its grid must not be drawn anew, and averaged, day after day."""
    for protocol in (
        collect.Piecewise.costing(Loss(1), bounds=Bounds(0, 100, step=1)),
        collect.OneBit.costing(Loss(1), bounds=Bounds(0, 100, step=1)),
        collect.LocalLaplace.costing(Loss(1), bounds=Bounds(0, 100, step=1)),
    ):
        device = collect.Device(protocol)
        assert len({device.report(37 + day * 1e-6) for day in range(200)}) == 1
        assert {device.report(float("inf")), device.report(1e300)} == {device.report(100)}
        assert device.report(float("nan")) == device.report(0)
        assert device.loss() == protocol.loss() * 3


def test_an_attribute_that_did_not_change_is_not_drawn_anew() -> None:
    one, two = collect.Direct.costing(Loss(1), domain=1000), collect.Direct.costing(Loss("0.5"), domain=1000)
    device = collect.Device(collect.EveryAttribute((one, two)))
    assert len({device.report((3, 4)) for _ in range(100)}) == 1
    first = {device.report((3, other))[5:7] for other in range(50)}
    assert len(first) == 1, "the first attribute is told again while the second changes"
    assert device.loss() == one.loss() + two.loss() * 50
    again = collect.Device(collect.EveryAttribute((one, two)), device.memory())
    assert again.report((3, 7)) == device.report((3, 7))
    assert again.loss() == device.loss()
    for misfit in ((3,), 3, (3, 4, 5)):
        with pytest.raises(InvalidParameter, match="a tuple of 2 values"):
            device.report(misfit)


def test_one_attribute_of_a_record_is_remembered_with_the_whole_record() -> None:
    grid = collect.Piecewise.costing(Loss(1), bounds=Bounds(0, 100, step=1))
    protocol = collect.OneAttribute((collect.Direct.costing(Loss(1), domain=1000), grid))
    device = collect.Device(protocol)
    assert len({device.report((3, 50 + day * 1e-6)) for day in range(100)}) == 1
    device.report((3, 51))
    assert device.loss() == protocol.loss() * 2


def test_a_value_that_is_none_is_refused_though_its_like_is_remembered() -> None:
    device = collect.Device(collect.Direct.costing(Loss(1), domain=10))
    told = device.report(1)
    assert device.report(np.int64(1)) == told
    for misfit in (1.0, True, "1", 10):
        with pytest.raises(InvalidParameter):
            device.report(misfit)
    assert len(device.memory()) == 1


def test_what_is_remembered_about_one_topic_is_not_told_for_another() -> None:
    protocol = collect.Direct.costing(Loss(1), domain=10)
    tax, doping = collect.topic_of({"question": "tax?"}), collect.topic_of({"question": "doping?"})
    asked = collect.Device(protocol, topic=tax)
    told = asked.report(1)
    assert collect.open_messages(protocol, [told], topic=tax)[1] == 0
    assert collect.open_messages(protocol, [told], topic=doping)[1] == 1
    assert collect.open_messages(protocol, [told])[1] == 1
    for other in (doping, ""):
        with pytest.raises(InvalidParameter, match="made for another"):
            collect.Device(protocol, asked.memory(), topic=other)
    with pytest.raises(InvalidParameter, match="32 hexadecimal digits"):
        collect.Device(protocol, topic="tax?")


def test_a_topic_is_part_of_the_description() -> None:
    protocol = collect.Direct.two_coin()
    topic = collect.topic_of({"question": "Ελλάδα?", "answers": ["no", "yes"]})
    described = collect.describe(protocol, topic)
    assert collect.from_description(described) == protocol
    assert described["id"] != collect.describe(protocol)["id"] == "a2ac1eaf", "without a topic it is as it was"
    for spoilt in ({**described, "topic": "0" * 32}, {**described, "topic": 7}, {**described, "topic": ""}):
        with pytest.raises(InvalidParameter):
            collect.from_description(spoilt)


def test_a_memory_survives_a_restart_and_fits_no_other_protocol() -> None:
    protocol = collect.Direct.costing(Loss("0.5"), domain=1000)
    device = collect.Device(protocol)
    told = device.report(77)
    assert collect.Device(protocol, device.memory()).report(77) == told
    [[key, kept]] = device.memory().items()
    for spoilt in ({"n:1": "00"}, {key: "zz"}, {key: None}, {key: "00" * 7}, {key: kept[:-2]}, {"1:n:77": kept}):
        with pytest.raises(InvalidParameter, match="does not fit"):
            collect.Device(protocol, spoilt)  # type: ignore[arg-type]


def test_rappors_permanent_response_is_drawn_once_and_bounds_what_averaging_finds() -> None:
    protocol = collect.Rappor(16, 1, 4, forget="0.5", zero="0.25", one="0.75")
    device = collect.RapporDevice(protocol, 2)
    reports = [device.report("home") for _ in range(3000)]
    bodies, dropped = collect.open_messages(protocol, reports)
    assert dropped == 0
    assert len({body.tobytes() for body in bodies}) > 100, "each report is drawn anew"
    [kept] = device.memory().values()
    rates = np.unpackbits(bodies[:, 1:], axis=1, bitorder="little").mean(axis=0)
    permanent = np.unpackbits(np.frombuffer(bytes.fromhex(kept), np.uint8), bitorder="little")
    assert ((rates > 0.5) == (permanent == 1)).all(), "averaging finds the permanent response, and no more"
    assert device.loss() == protocol.loss()
    assert collect.RapporDevice(protocol, 2, memory=device.memory()).memory() == device.memory()
    with pytest.raises(InvalidParameter, match="cohort"):
        collect.RapporDevice(protocol, 4)
