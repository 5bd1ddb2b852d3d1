"""Texts in the local model: RAPPOR and its decoding, Apple's sketches, and heavy hitters of large domains."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.sources import Seeded
from tacit import collect
from tacit.collect.texts.hashing import place, places
from tacit.collect.texts.prefix_tree import Round
from tacit.core import Loss
from tacit.errors import InvalidParameter

CHROME = collect.Rappor(128, 2, 8, forget="0.5", zero="0.5", one="0.75")
DEMO = collect.Rappor(32, 1, 64, forget="0.5", zero="0.25", one="0.75")


def test_chromes_parameters_cost_what_the_paper_says() -> None:
    zero, one = CHROME.chances
    assert (one, zero) == (Fraction(11, 16), Fraction(9, 16))
    assert float(CHROME.report_loss().epsilon) == pytest.approx(1.074285864166728, abs=1e-12)
    assert float(CHROME.loss().epsilon) == pytest.approx(4.394449154672439, abs=1e-12)
    assert float(DEMO.report_loss().epsilon) == pytest.approx(1.0216512475319814, abs=1e-12)


def test_what_is_kept_for_good_costs_the_longitudinal_price() -> None:
    """Each bit of the permanent response has one of two chances; filters differ in `hashes` bits each way."""
    filters = CHROME.filters(["first", "second"], np.array([3, 3]))
    assert filters.sum(axis=1).tolist() == [2, 2]
    assert (filters[0] & filters[1]).sum() == 0, "as far apart as two texts can be"
    ones = np.where(filters, float(1 - CHROME.forget / 2), float(CHROME.forget / 2))  # the chance of a kept 1
    worst = np.maximum(ones[0] / ones[1], (1 - ones[0]) / (1 - ones[1]))
    assert np.log(worst).sum() == pytest.approx(float(CHROME.loss().epsilon))
    kept = CHROME.permanent(np.repeat(filters[:1], 20_000, axis=0), Seeded(9))
    assert np.abs(kept.mean(axis=0) - ones[0]).max() < 0.03  # nine standard deviations


def test_apples_flip_at_epsilon_4() -> None:
    sketch = collect.CountMeanSketch.costing(Loss(4), hashes=64, columns=1024)
    assert float(sketch.flip) == pytest.approx(0.11920292202211755, abs=1e-15)
    assert sketch.loss().epsilon <= 4


@pytest.mark.parametrize(
    "chances",
    [
        {"forget": "0.5", "zero": "0.75", "one": "0.75"},
        {"forget": "1", "zero": "0.25", "one": "0.75"},
        {"forget": "0", "zero": "0", "one": "0.75"},
        {"forget": "0", "zero": "0.25", "one": "1"},
        {"forget": "-1", "zero": "0.25", "one": "0.75"},
        {"forget": "0.5", "zero": "0.25", "one": "1.5"},
    ],
)
def test_chances_that_hide_nothing_or_say_nothing_are_refused(chances: dict[str, str]) -> None:
    with pytest.raises(InvalidParameter):
        collect.Rappor(32, 1, 64, **chances)


@pytest.mark.parametrize("shape", [(33, 1, 1), (32, 0, 1), (32, 33, 1), (32, 1, 0), (32, 1, 1 << 17)])
def test_a_filter_that_cannot_be_is_refused(shape: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidParameter):
        collect.Rappor(*shape, forget="0.5", zero="0.25", one="0.75")


def test_without_forgetting_only_a_single_report_has_a_price() -> None:
    fresh = collect.Rappor(32, 1, 4, forget=0, zero="0.25", one="0.75")
    assert fresh.report_loss().epsilon > 2
    with pytest.raises(InvalidParameter, match="without end"):
        fresh.loss()


def falling(people: int) -> list[str]:
    chances = np.exp(-np.arange(1, 101) / 20)
    numbers = np.random.default_rng(9).choice(100, people, p=chances / chances.sum()) + 1
    return [f"v{number}" for number in numbers]


def test_the_common_values_of_the_demo_are_found_and_hardly_any_others() -> None:
    texts = falling(200_000)
    tally = DEMO.tally(DEMO.encode(texts, Seeded(10)))
    found = collect.decode(DEMO, tally, [f"v{number}" for number in range(1, 201)])
    truth = {text: texts.count(text) / len(texts) for text in set(texts)}
    assert sum(one.text not in truth for one in found.found) <= 2  # at a rate of 5 % of about 25, more than 2 are rare
    assert {f"v{number}" for number in range(1, 11)} <= {one.text for one in found.found}
    for one in found.found[:10]:
        assert abs(one.share - truth[one.text]) < 6 * one.error
    assert found.share("v1") == found.found[0].share or found.share("v1") > 0.03
    assert found.share("nobody has this") == 0
    assert 0.5 < found.explained < 1.1


def test_a_value_that_nobody_listed_is_not_pinned_on_another() -> None:
    texts = ["secret"] * 30_000 + ["known"] * 30_000
    tally = DEMO.tally(DEMO.encode(texts, Seeded(11)))
    found = collect.decode(DEMO, tally, ["known", *(f"x{number}" for number in range(50))])
    assert [one.text for one in found.found] == ["known"]
    assert found.found[0].share == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("candidates", [1, 30, 500])
def test_one_cohort_is_no_reason_to_crash(candidates: int) -> None:
    single = collect.Rappor(32, 1, 1, forget="0.5", zero="0.25", one="0.75")
    tally = single.tally(single.encode(falling(20_000), Seeded(12)))
    found = collect.decode(single, tally, [f"v{number}" for number in range(1, candidates + 1)])
    assert len(found.found) <= 32, "no more than there are bits to tell them apart"


def test_empty_cohorts_and_a_single_report_are_no_reason_to_crash() -> None:
    tally = DEMO.tally(DEMO.encode(["v1"], Seeded(13)))
    assert collect.decode(DEMO, tally, ["v1", "v2"]).reports == 1
    with pytest.raises(InvalidParameter, match="nothing to estimate"):
        collect.decode(DEMO, DEMO.tally(np.zeros((0, DEMO.width), np.uint8)), ["v1"])
    with pytest.raises(InvalidParameter, match="nothing to look for"):
        collect.decode(DEMO, tally, [])
    with pytest.raises(InvalidParameter, match="not texts"):
        collect.decode(DEMO, tally, "v1")


def test_false_discoveries_are_held_down_as_benjamini_and_hochberg_do() -> None:
    chances = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216, 0.222, 0.251, 0.269, 0.275, 0.34]
    assert collect.discoveries(chances, level=0.05) == [0]
    assert collect.discoveries(chances, level=0.25) == [0, 1, 2, 3, 4, 5, 6]
    assert collect.discoveries(chances[:3], level=0.05, tests=1000) == []
    assert collect.discoveries([], level=0.05) == []


def test_with_nothing_to_find_hardly_anything_is_found() -> None:
    """Forty runs at a rate of 5 %: more than twelve with a discovery have probability 1e-7."""
    runs = 0
    source = Seeded(14)
    small = collect.Rappor(16, 1, 8, forget="0.5", zero="0.25", one="0.75")
    for number in range(40):
        texts = [f"hidden {number} {place}" for place in range(2000)]  # all different, none listed
        tally = small.tally(small.encode(texts, source))
        runs += bool(collect.decode(small, tally, [f"c{i}" for i in range(20)]).found)
    assert runs <= 12


@pytest.mark.parametrize("kind", [collect.CountMeanSketch, collect.HadamardSketch], ids=lambda kind: kind.__name__)
def test_a_sketch_counts_texts_it_was_never_told_of(kind: Any) -> None:
    texts = ["often"] * 12_000 + ["seldom"] * 4_000 + [f"rare {number}" for number in range(4_000)]
    sketch = kind.costing(Loss(2), hashes=32, columns=256)
    found = sketch.estimate(sketch.tally(sketch.encode(texts, Seeded(15))), ["often", "seldom", "never"])
    assert (np.abs(found.values - [0.6, 0.2, 0]) < 5 * found.errors).all()
    assert (found.errors < 0.05).all()


@pytest.mark.parametrize("kind", [collect.CountMeanSketch, collect.HadamardSketch], ids=lambda kind: kind.__name__)
def test_texts_that_share_a_cell_are_allowed_for(kind: Any) -> None:
    """With four columns every fourth text meets a candidate by chance: uncorrected, `never` would have a quarter."""
    texts = [f"text {number % 40}" for number in range(20_000)]
    sketch = kind.costing(Loss(4), hashes=256, columns=4)
    found = sketch.estimate(sketch.tally(sketch.encode(texts, Seeded(22))), ["never", "nowhere", "text 0"])
    assert (np.abs(found.values - [0, 0, 1 / 40]) < 6 * found.errors).all()
    assert (found.errors < 0.03).all()


def test_sketches_that_do_not_fit_are_refused() -> None:
    for shape in ((0, 256), (4, 100), (1 << 20, 1 << 10)):
        with pytest.raises(InvalidParameter):
            collect.CountMeanSketch.costing(Loss(1), hashes=shape[0], columns=shape[1])
        with pytest.raises(InvalidParameter):
            collect.HadamardSketch.costing(Loss(1), hashes=shape[0], columns=shape[1])


def test_places_of_many_texts_are_those_of_each() -> None:
    texts = ["a", "b", "a", "ü"]
    functions = np.array([0, 1, 2, 3])
    assert places(texts, functions, size=64).tolist() == [place(t, f, 64) for t, f in zip(texts, range(4), strict=True)]
    assert places([], np.array([], dtype=np.int64), size=64).size == 0


# ── heavy hitters ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_heavy_hitters_of_2_to_the_48_values_are_found() -> None:
    words = ["python", "duckdb", "sqlite"]
    shares = [0.3, 0.2, 0.12]
    numbers = np.random.default_rng(16)
    people = [
        collect.text_to_number(words[which] if which < 3 else f"{numbers.integers(1 << 30):x}"[:6], 48)
        for which in numbers.choice(4, 60_000, p=[*shares, 1 - sum(shares)])
    ]
    tree = collect.PrefixTree(48, 8, 16, Loss(3), level="1e-9")
    found = tree.find(people, Seeded(17))
    assert {collect.number_to_text(one.value, 48) for one in found} == set(words)
    for one in found:
        share = shares[words.index(collect.number_to_text(one.value, 48))]
        assert abs(one.share - share) < 6 * one.error


def test_where_nobody_agrees_nothing_is_found() -> None:
    people = np.random.default_rng(18).integers(0, 1 << 40, 20_000)
    assert collect.PrefixTree(40, 10, 16, Loss(1), level="0.000001").find(people, Seeded(19)) == ()


def test_everybody_answers_in_one_round_at_the_price_of_one_answer() -> None:
    tree = collect.PrefixTree(16, 8, 4, Loss("0.5"))
    first = tree.first()
    assert first.protocol.loss().epsilon <= Fraction(1, 2)
    later = tree.grow(first, first.protocol.tally(first.encode([0xABCD] * 5000, Seeded(20))))
    assert isinstance(later, Round)
    assert later.protocol.loss().epsilon <= Fraction(1, 2)
    assert 0xAB in later.prefixes


def test_a_value_with_another_prefix_answers_none_of_them() -> None:
    tree = collect.PrefixTree(16, 8, 4, Loss(20))
    asked = Round(tree, 8, (0x10, 0x20))
    answered = asked.protocol.estimate(asked.protocol.tally(asked.encode([0x2034] * 400 + [0x9999] * 600, Seeded(21))))
    assert answered.values[256 + 0x34] == pytest.approx(0.4, abs=0.02)
    assert answered.values[-1] == pytest.approx(0.6, abs=0.02)


@pytest.mark.parametrize("shape", [(63, 8, 4), (8, 9, 4), (48, 0, 4), (48, 8, 0), (48, 20, 64)])
def test_a_tree_that_does_not_fit_is_refused(shape: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidParameter):
        collect.PrefixTree(*shape, Loss(1))


def test_a_value_too_long_for_the_tree_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="more than 16 bits"):
        collect.PrefixTree(16, 8, 4, Loss(1)).first().encode([1 << 16])


def test_texts_and_numbers_turn_into_each_other() -> None:
    assert collect.number_to_text(collect.text_to_number("Ωmega", 64), 64) == "Ωmega"
    assert collect.number_to_text(collect.text_to_number("too long a text", 32), 32) == "too "
