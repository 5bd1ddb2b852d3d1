"""Whatever is asked for or sent: a protocol that keeps its price, or a refusal; never a crash."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import collect
from tacit.collect.descriptions import PROTOCOLS
from tacit.core import Bounds, Loss
from tacit.errors import InvalidParameter

MAKERS = {
    "direct": lambda loss, size: collect.Direct.costing(loss, domain=size),
    "optimised": lambda loss, size: collect.Unary.optimised(loss, domain=size),
    "symmetric": lambda loss, size: collect.Unary.symmetric(loss, domain=size),
    "local hash": lambda loss, size: collect.LocalHash.costing(loss, domain=size),
    "Hadamard": lambda loss, size: collect.Hadamard.costing(loss, domain=size),
    "subset": lambda loss, size: collect.SubsetSelection.costing(loss, domain=size),
    "projective": lambda loss, size: collect.Projective.costing(loss, domain=size),
    "one bit": lambda loss, size: collect.OneBit.costing(loss, bounds=Bounds(0, size)),
    "piecewise": lambda loss, size: collect.Piecewise.costing(loss, bounds=Bounds(0, size)),
    "hybrid": lambda loss, size: collect.Hybrid.costing(loss, bounds=Bounds(0, size)),
    "square wave": lambda loss, size: collect.SquareWave.costing(loss, bounds=Bounds(0, size)),
}
each_maker = pytest.mark.parametrize("name", MAKERS)
prices = st.fractions(min_value=Fraction(1, 10**6), max_value=20)


@each_maker
@settings(max_examples=25)
@given(epsilon=prices, size=st.integers(2, 70), data=st.data())
def test_any_price_and_domain_make_a_protocol_that_keeps_to_it(
    name: str, epsilon: Fraction, size: int, data: st.DataObject
) -> None:
    protocol = MAKERS[name](Loss(epsilon), size)
    paid = protocol.loss().epsilon
    assert paid <= epsilon
    assert paid > epsilon * Fraction(99, 100), "hardly anything of the price is lost"
    values = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=20))
    tally = protocol.tally(protocol.encode(values))
    assert (tally.reports, tally.dropped) == (len(values), 0)
    assert np.isfinite(protocol.estimate(tally).values).all()
    assert collect.from_description(collect.describe(protocol)) == protocol


@each_maker
@pytest.mark.parametrize("epsilon", ["1e-30", "1e-9", "100", "5000", "1e9"])
def test_prices_beyond_all_use_still_make_sense(name: str, epsilon: str) -> None:
    protocol = MAKERS[name](Loss(epsilon), 9)
    assert 0 < protocol.loss().epsilon <= Fraction(epsilon)
    tally = protocol.tally(protocol.encode([0, 1, 8]))
    assert np.isfinite(protocol.estimate(tally).values).all()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["1/3", "1/2", "7/2"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["lower", "step", "steps", "protocol"]), inner)
    ),
    max_leaves=6,
)
FIELDS = {name: list(kind.__dataclass_fields__) for name, kind in PROTOCOLS.items()}


@settings(max_examples=300)
@given(name=st.sampled_from(sorted(PROTOCOLS)), data=st.data())
def test_any_description_is_a_protocol_or_refused(name: str, data: st.DataObject) -> None:
    made = {"format": "tacit-collect/1", "protocol": name}
    for field in FIELDS[name]:
        made[field] = data.draw(json_values)
    try:
        protocol = collect.from_description(made)
    except InvalidParameter:
        return
    assert collect.from_description(collect.describe(protocol)) == protocol


@settings(max_examples=100)
@given(changed=st.dictionaries(st.text(max_size=8), json_values, max_size=3))
def test_any_object_at_all_is_a_protocol_or_refused(changed: dict[str, Any]) -> None:
    good = collect.describe(collect.Direct.two_coin())
    for wrong in ({**good, **changed}, changed):
        try:
            collect.from_description(wrong)
        except InvalidParameter:
            continue


@settings(max_examples=200)
@given(received=st.lists(st.binary(max_size=12)))
def test_any_messages_are_opened_or_dropped(received: list[bytes]) -> None:
    protocol = collect.Direct.costing(Loss(1), domain=300)
    bodies, dropped = collect.open_messages(protocol, received)
    tally = protocol.tally(bodies)
    assert tally.reports + tally.dropped + dropped == len(received)
