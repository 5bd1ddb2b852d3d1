"""Every local protocol keeps its promise: its exact law, its price, its estimates, and what it does with nonsense."""

from __future__ import annotations

import dataclasses
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from conformance.collect_cases import CASES, Case, named
from conformance.collect_laws import Law, law_of
from support.laws import FALSE_ALARM, p_value_of_counts
from support.sources import Seeded
from tacit import collect
from tacit.attack import audit
from tacit.collect.descriptions import PROTOCOLS
from tacit.collect.ratios import price
from tacit.core import Loss
from tacit.errors import InvalidParameter, NoiseUnavailable

FIELDS = ("Guarantee", "Sensitivity", "Error", "Exactness", "Reference")
ONE = Loss(1)
each_case = pytest.mark.parametrize("case", CASES, ids=str)
frequency_case = pytest.mark.parametrize("case", [case for case in CASES if case.frequency], ids=str)
DRAWS = 60_000


def domain_of(protocol: Any) -> range:
    return range(protocol.domain if hasattr(protocol, "domain") else protocol.scale.steps + 1)


def dearest(first: Law, second: Law) -> Fraction:
    """The largest factor by which a report is likelier under the first law than under the second."""
    first, second = ({body: chance for body, chance in law.items() if chance} for law in (first, second))
    assert first.keys() == second.keys(), "a report that only one of them can send gives its sender away"
    return max(first[body] / second[body] for body in first)


# ── the law and the price ────────────────────────────────────────────────────────────────────────────────────────────


@each_case
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3, 2)], ids=str)
def test_no_report_costs_more_than_the_price_and_some_report_costs_all_of_it(case: Case, epsilon: Fraction) -> None:
    protocol = case.costing(Loss(epsilon))
    stated = case.price(protocol).epsilon
    values = domain_of(protocol) if case.frequency or case.mean else case.values
    laws = [law_of(protocol, value) for value in values]
    assert all(sum(law.values()) == 1 for law in laws)
    most = max(dearest(a, b) for a in laws for b in laws)
    assert math.log(most) <= float(stated) * (1 + 1e-15)
    assert stated <= epsilon
    assert math.log(most) == pytest.approx(float(epsilon), rel=1e-9), "the price is paid for nothing"


def test_a_price_that_is_too_low_would_be_noticed() -> None:
    protocol = collect.Direct(5, Fraction(1, 3))
    assert price(dearest(law_of(protocol, 0), law_of(protocol, 1))) > Fraction(2)
    assert math.log(dearest(law_of(protocol, 0), law_of(protocol, 1))) == pytest.approx(math.log(8))


def drawn_p_value(case: Case, protocol: Any, claimed: Any, value: Any) -> float:
    """How well reports of `protocol` fit the law of `claimed`."""
    law = law_of(claimed, value)
    bodies = case.encode(protocol, value, DRAWS, Seeded(5))
    seen, counts = np.unique(bodies, axis=0, return_counts=True)
    places = {body: place for place, body in enumerate(law)}
    tally = np.zeros(len(law), dtype=np.int64)
    for body, count in zip(seen, counts, strict=True):
        assert body.tobytes() in places, "a report that the law does not know"
        tally[places[body.tobytes()]] += count
    order = np.argsort([float(chance) for chance in law.values()])
    return p_value_of_counts(tally[order], np.array([float(chance) for chance in law.values()])[order])


@each_case
@pytest.mark.parametrize("which", [0, 2])
def test_reports_follow_the_law(case: Case, which: int) -> None:
    protocol = case.costing(ONE)
    assert drawn_p_value(case, protocol, protocol, case.values[which]) > FALSE_ALARM


@each_case
def test_a_price_thirty_per_cent_off_is_noticed_in_the_reports(case: Case) -> None:
    cheap, dear = case.costing(Loss("0.7")), case.costing(Loss("1.3"))
    if law_of(cheap, case.values[0]).keys() != law_of(dear, case.values[0]).keys():
        cheap = dataclasses.replace(dear, lie=dear.lie * Fraction(7, 10))  # the same shape, lying less often
    assert drawn_p_value(case, cheap, dear, case.values[0]) < FALSE_ALARM


def leaked(case: Case, protocol: Any, *, draws: int) -> float:
    """What a stranger certifies, counting the reports that a price-tight law would single out."""
    first, second = (law_of(protocol, value) for value in case.values[:2])
    worst = dearest(first, second)
    told = {body for body in first if first[body] / second[body] > worst * Fraction(99, 100)}
    source = Seeded(6)

    def event(bodies: Any) -> Any:
        return np.array([row.tobytes() in told for row in bodies])

    return audit(
        lambda side, times: case.encode(protocol, case.values[side], times, source), event, draws=draws
    ).epsilon


@pytest.mark.parametrize("name", ["direct", "local hash", "Hadamard", "piecewise", "one bit", "Hadamard sketch"])
def test_a_stranger_certifies_no_more_than_the_price_and_nearly_all_of_it(name: str) -> None:
    case = named(name)
    certified = leaked(case, case.costing(Loss(1)), draws=150_000)
    assert 0.5 < certified <= 1


@pytest.mark.parametrize("name", ["direct", "unary, optimised", "Hadamard", "piecewise"])
def test_a_stranger_catches_a_protocol_that_claims_less_than_it_costs(name: str) -> None:
    case = named(name)
    assert leaked(case, case.costing(Loss("1.3")), draws=150_000) > 1


# ── estimates ────────────────────────────────────────────────────────────────────────────────────────────────────────


def guesses(protocol: Any, law: Law) -> tuple[np.ndarray, np.ndarray]:
    """The estimate from each single report that can be sent, and its chance."""
    bodies = np.frombuffer(b"".join(law), dtype=np.uint8).reshape(len(law), -1)
    each = [protocol.estimate(protocol.tally(bodies[i : i + 1])).values for i in range(len(law))]
    return np.array(each), np.array([float(chance) for chance in law.values()])


@frequency_case
def test_shares_are_estimated_without_bias(case: Case) -> None:
    protocol = case.costing(ONE)
    for value in domain_of(protocol):
        each, chances = guesses(protocol, law_of(protocol, value))
        truth = np.zeros(each.shape[1])
        truth[value] = 1
        assert chances @ each == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("case", [case for case in CASES if case.mean], ids=str)
def test_means_are_estimated_without_bias(case: Case) -> None:
    protocol = case.costing(ONE)
    for value in domain_of(protocol):
        each, chances = guesses(protocol, law_of(protocol, value))
        assert chances @ each == pytest.approx([value], abs=1e-9)


@pytest.mark.parametrize("case", [case for case in CASES if case.frequency and case.name != "square wave"], ids=str)
def test_the_stated_variance_is_the_laws(case: Case) -> None:
    protocol = case.costing(ONE)
    for value in (case.values[0], case.values[2]):
        each, chances = guesses(protocol, law_of(protocol, value))
        variances = chances @ each**2 - (chances @ each) ** 2
        for other, variance in enumerate(variances):
            assert protocol.support.variance(int(other == value), 1) == pytest.approx(variance, rel=1e-9)


@each_case
def test_tallies_of_parts_add_up_to_the_tally_of_the_whole(case: Case) -> None:
    protocol = case.costing(ONE)
    bodies = np.concatenate([case.encode(protocol, value, 250, Seeded(7)) for value in case.values[1:]])
    bodies[:9] = 255  # nonsense counts, too

    def tallies(rows: Any, weights: Any = None) -> list[collect.Tally]:
        return protocol.tallies(rows, weights) if hasattr(protocol, "tallies") else [protocol.tally(rows, weights)]

    whole = tallies(bodies)
    parts = [one + two for one, two in zip(tallies(bodies[:123]), tallies(bodies[123:]), strict=True)]
    once, times = np.unique(bodies, axis=0, return_counts=True)
    for other in (parts, tallies(once, times)):
        for one, two in zip(whole, other, strict=True):
            assert (one.counts == two.counts).all()
            assert (one.reports, one.dropped) == (two.reports, two.dropped)


# ── nonsense ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@each_case
def test_any_bytes_at_all_are_counted_or_dropped(case: Case) -> None:
    protocol = case.costing(ONE)
    rubbish = np.frombuffer(np.random.default_rng(8).bytes(400 * protocol.width), np.uint8).reshape(400, -1)
    ends = np.array([[0] * protocol.width, [255] * protocol.width], dtype=np.uint8)
    bodies = np.concatenate((rubbish, ends))
    tallies = protocol.tallies(bodies) if hasattr(protocol, "tallies") else [protocol.tally(bodies)]
    if case.name == "every attribute":
        assert all(tally.reports + tally.dropped == 402 for tally in tallies)
    else:
        assert sum(tally.reports + tally.dropped for tally in tallies) == 402
    known = set(law_of(protocol, case.values[0]))
    if case.name.startswith("RAPPOR"):
        known |= {b"\1" + body[1:] for body in known}
    if case.name != "every attribute":
        assert sum(tally.reports for tally in tallies) == sum(body.tobytes() in known for body in bodies)


@each_case
def test_messages_come_back_and_foreign_ones_are_dropped_and_counted(case: Case) -> None:
    protocol = case.costing(ONE)
    bodies = case.encode(protocol, case.values[0], 5, Seeded(9))
    sent = collect.messages(protocol, bodies)
    other = collect.messages(collect.Direct.two_coin("1/3"), np.zeros((1, 1), dtype=np.uint8))
    spoilt = [b"", sent[0][:-1], sent[0] + b"\0", b"\2" + sent[0][1:], sent[0][:1] + b"abcd" + sent[0][5:], *other]
    opened, dropped = collect.open_messages(protocol, [*sent, *spoilt, "text"])  # type: ignore[list-item]
    assert (opened == bodies).all()
    assert dropped == len(spoilt) + 1


@each_case
def test_a_description_is_exact_and_a_changed_one_is_refused(case: Case) -> None:
    protocol = case.costing(ONE)
    described = collect.describe(protocol)
    assert collect.from_description(described) == protocol
    assert collect.describe(collect.from_description(described)) == described
    for changed in ({"format": "tacit-collect/2"}, {"protocol": "nonsense"}, {"id": "00000000"}, {"more": 1}):
        with pytest.raises(InvalidParameter):
            collect.from_description({**described, **changed})


# ── refusals and shape ───────────────────────────────────────────────────────────────────────────────────────────────


@each_case
@pytest.mark.parametrize("epsilon", [0, -1, "nan", float("inf"), "1e400", None, True])
def test_a_loss_that_would_mean_no_noise_is_refused(case: Case, epsilon: Any) -> None:
    with pytest.raises(InvalidParameter):
        case.costing(Loss(epsilon))


class Broken:
    """A source whose operating system has no random bits left."""

    def draw(self, count: int) -> Any:
        raise NoiseUnavailable("no random bits: this source has none")


@each_case
def test_nothing_leaves_without_random_bits(case: Case) -> None:
    with pytest.raises(NoiseUnavailable):
        case.encode(case.costing(ONE), case.values[0], 1, Broken())


@each_case
def test_reports_of_another_shape_are_refused(case: Case) -> None:
    protocol = case.costing(ONE)
    count = protocol.tallies if hasattr(protocol, "tallies") else protocol.tally
    for wrong in (np.zeros((2, protocol.width + 1), np.uint8), np.zeros(3, np.uint8), np.zeros((2, protocol.width))):
        with pytest.raises(InvalidParameter, match="do not fit"):
            count(wrong)


def test_every_protocol_is_in_the_suite() -> None:
    assert {type(case.costing(ONE)) for case in CASES} | {collect.LocalLaplace} == set(PROTOCOLS.values())


@pytest.mark.parametrize("protocol", [*PROTOCOLS.values(), collect.PrefixTree])
def test_a_protocol_is_a_frozen_value_whose_docstring_has_five_fields(protocol: Any) -> None:
    assert tuple(re.findall(r"^    (\w+):\s+\S", protocol.__doc__, flags=re.MULTILINE)) == FIELDS
    assert dataclasses.is_dataclass(protocol)
    assert protocol.__dataclass_params__.frozen
    assert hasattr(protocol, "__slots__")
    assert protocol.__bases__ == (object,)
