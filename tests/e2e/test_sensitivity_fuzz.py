"""Random tables, random policies, random questions; every unit taken out in turn: no plan claims too little.

What is compared is what noise is added to: the exact integers that DuckDB returns for the plan's own SQL. Longer runs,
and a seed to repeat a failure: `make fuzz`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

import duckdb
import pytest
from sqlglot import exp

from conformance import sql_sensitivity
from conformance.sql_names import confusing
from conformance.sql_questions import Rng, question
from conformance.sql_sensitivity import Violation, agrees_with_the_engine, check, fuzz
from conformance.sql_sources import over_another_source, pivoted
from conformance.sql_tables import COLUMNS, PLAIN, random_table
from tacit.curator.measuring import bias
from tacit.engines.columns import readable
from tacit.errors import TacitError
from tacit.sql.expressions.measures import Quantile
from tacit.sql.expressions.names.unread import OUTSIDE
from tacit.sql.planning import bounding, excess, planner, statements
from tacit.sql.planning.bounding import Sensitivity
from tacit.sql.rules.clamp import clamp
from tacit.sql.rules.count_distinct import keep_distinct
from tacit.sql.rules.facts import name
from tacit.sql.rules.sample_groups import sample_groups
from tacit.sql.rules.sample_rows import sample_rows

PAIRS = 900  # in each of four runs: 3,600 in all, of some 400 questions
CUT_PAIRS = 1_300  # of what the bounds cut
SMALL = {"rows": 26, "units": 9}  # more questions for as many pairs
ENOUGH = 4_000  # pairs within which every planted bug is found
LADDER = range(excess.LEVELS)
Patch = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize("seed", [1, 12_001, 20_001, 30_001])
def test_one_unit_moves_no_measurement_farther_than_its_plan_says(seed):
    *_, tried = fuzz(seed, pairs=PAIRS, rare=True, **SMALL)
    assert tried.pairs >= PAIRS
    assert sum(tried.refused.values()) < tried.plans / 3  # the questions are questions
    for kind in ("rows", "values", "units", "distinct", "Quantile", "Mode", "Histogram", "Laplace", "Gaussian"):
        assert tried.seen[kind] >= 2, kind
    for kind in ("Spread.SAMPLE", "Spread.WEIGH_L1", "Spread.WEIGH_L2", "Spread.NONE", "private keys", "public keys"):
        assert tried.seen[kind] >= 2, kind


@pytest.mark.parametrize("seed", [3, 40_001])
def test_one_unit_moves_what_is_made_of_its_windows_unions_and_patterns_no_farther(seed):
    *_, tried = fuzz(seed, pairs=250, sources=True, **SMALL)
    assert tried.plans >= 15
    assert sum(tried.refused.values()) < tried.plans * 2  # columns that a source leaves out are refused


@pytest.mark.parametrize(("seed", "sources"), [(4, False), (60_001, False), (5, True)])
def test_one_unit_moves_nothing_farther_whatever_the_columns_are_called(seed, sources):
    *_, tried = fuzz(seed, pairs=200, hostile=True, sources=sources, **SMALL)
    assert tried.plans >= 15


@pytest.mark.parametrize("seed", range(70_001, 70_005))
def test_a_question_reads_the_same_numbers_whatever_the_columns_are_called(seed):
    assert differing(seed, questions=9) == []


def differing(seed, *, questions):
    """The questions that return something else, or are refused, once the columns have hostile names."""
    called = confusing(Rng(seed), COLUMNS, never=("w", "rid"))
    plain, other = (random_table(Rng(seed), rows=20, units=6, called=each) for each in (PLAIN, called))
    rng, found = Rng(seed), []
    by_row = plain.world.policy.tables[0].unit_column is None
    for number in range(questions):
        text = question(rng, by_row=by_row) if by_row or number % 3 else pivoted(rng)
        text = over_another_source(rng, text, by_row=by_row) if number % 3 == 1 else text
        try:
            wanted = _rows(plain.world, text)
        except TacitError:
            continue
        try:
            same = _rows(other.world, called.sql(text)) == wanted
        except (TacitError, duckdb.Error):
            same = False
        found += [] if same else [called.sql(text)]
    for table in (plain, other):
        table.world.engine.close()
    return found


def _rows(over, text):
    runs = [readable(over.engine._connection, run.sql("duckdb")) for run in over.plan(text).statements]
    columns = [run.read(over.engine._connection.cursor()) for run in runs]
    return [sorted(map(repr, zip(*(list(cells) for cells in each.values()), strict=True))) for each in columns]


def aliases_that_anybody_can_write(patch):
    """The alias capture of old: ours are called s, u and v0, and columns of the query around are bare."""

    def as_it_was(tree):
        for column in tree.find_all(exp.Column):
            column.set("table", None if column.table == OUTSIDE else column.args.get("table"))
        return tree

    patch.setattr(statements, "qualified", as_it_was)


def test_a_captured_alias_makes_one_row_visible_to_the_fuzz(monkeypatch):
    aliases_that_anybody_can_write(monkeypatch)
    with pytest.raises(Violation, match=r"the engine fails|moves by"):
        for _ in fuzz(27, pairs=ENOUGH, hostile=True, sources=True, **SMALL):
            pass


@pytest.mark.parametrize("seed", [7, 50_001])
def test_one_unit_moves_what_the_bounds_cut_no_farther_than_the_level_says(seed):
    *_, tried = fuzz(seed, pairs=CUT_PAIRS, bias=True)
    assert tried.pairs >= CUT_PAIRS
    assert tried.seen["bias"] >= 50
    for kind in ("rows", "values", "units", "Laplace", "Gaussian", "private keys", "public keys", "clamped bias"):
        assert tried.seen[kind] >= 1, kind
    for kind in ("Spread.SAMPLE", "Spread.WEIGH_L1", "Spread.WEIGH_L2", "Spread.NONE"):
        assert tried.seen[kind] >= 1, kind


def norms_of_each_group(patch):
    """The norm of one group in the place of that of all of them: a unit in many groups brings many times its end."""
    whole = excess._sums

    def apart(tree, facts, ladder):
        made = whole(tree, facts, ladder)
        for window in made.find_all(exp.Window):
            window.args["partition_by"].extend(name(key) for key in facts.keys)
        return made

    patch.setattr(excess, "_sums", apart)


def shares_that_are_not_shared(patch):
    """A unit above the level brings all of its excess."""

    def whole(sums, places, *, groups, level):
        return bias.excess_totals(sums, places, groups=groups, level=len(LADDER))

    patch.setattr(sql_sensitivity, "excess_totals", whole)


def excess_of_every_unit_alike(patch):
    """A norm that leaves out the sign adds up to nothing where a unit brings more here and less there."""
    patch.setattr(excess, "_size", lambda: name("e"))


@pytest.mark.parametrize("planted", [norms_of_each_group, shares_that_are_not_shared, excess_of_every_unit_alike])
def test_a_wrong_bound_on_what_was_cut_is_caught(planted, monkeypatch):
    planted(monkeypatch)
    with pytest.raises(Violation, match="seed"):
        for _ in fuzz(1, pairs=ENOUGH, bias=True):
            pass


def test_the_short_cut_through_a_lateral_join_says_what_the_engine_says():
    rng = Rng(7)
    checked = 0
    for _ in range(4):
        table = random_table(rng, rows=30, units=8)
        connection = table.world.engine._connection.cursor()
        for _ in range(6):
            try:
                made = table.world.plan(question(rng, by_row=table.world.policy.tables[0].unit_column is None))
            except TacitError:
                continue
            place = rng.randrange(len(table.units) + 2)
            assert agrees_with_the_engine(made, table, connection=connection, place=place)
            checked += 1
    assert checked >= 12


def module(rule):
    """The module of a rule: the package calls the rule itself by that name."""
    return sys.modules[f"tacit.sql.rules.{rule}"]


def halved_sensitivity(patch):
    def halved(*args, **named):
        full = bounding.sensitivity_of(*args, **named)
        return Sensitivity(max(1, full.in_group // 2), max(1, full.l1 // 2), max(Fraction(1), full.l2 / 2))

    patch.setattr(planner, "sensitivity_of", halved)


def forgotten_groups_in_l2(patch):
    def flat(*args, **named):
        full = bounding.sensitivity_of(*args, **named)
        return Sensitivity(full.in_group, full.in_group, Fraction(full.in_group))

    patch.setattr(planner, "sensitivity_of", flat)


def no_clamping(patch):
    def unclamped(tree, known):
        for mark in list(tree.find_all(exp.Anonymous)):
            if mark.this == "GRID":
                mark.set("expressions", [mark.expressions[0], mark.expressions[0].copy()])
        return tree

    _instead(patch, clamp, unclamped)


def no_sampling_of_groups(patch):
    _instead(patch, sample_groups, _untouched)


def no_sampling_of_rows(patch):
    _instead(patch, sample_rows, _untouched)


def no_cap_on_rows(patch):
    patch.setattr(module("add_per_unit"), "_capped", lambda measure, known: name(measure.name))


def no_scaling_of_heavy_units(patch):
    shares = module("weigh_groups")._shares
    every_group = lambda known: shares(replace(known, max_groups=1 << 20, max_rows=1 << 20))  # noqa: E731 - as short
    patch.setattr(module("weigh_groups"), "_shares", every_group)


def groups_sampled_over_all_units(patch):
    """The first max_groups groups of the table rather than of each unit: storage order in another dress."""

    def global_rank(tree, known):
        ranked = sample_groups(tree, known)
        for window in ranked.find_all(exp.Window):
            window.set("partition_by", None)
        return ranked

    _instead(patch, sample_groups, global_rank)


def no_cap_on_distinct_values(patch):
    _instead(patch, keep_distinct, lambda tree, known: keep_distinct(tree, replace(known, max_values=99)))


def every_spelling_a_unit(patch):
    patch.setattr(module("own_rows"), "_canonical", lambda column, unit: column.copy())


def every_row_without_a_unit_a_unit(patch):
    owner = "COALESCE(CAST(uid AS VARCHAR), 'nobody' || HASH(x, y, s, m, d)::VARCHAR)"
    patch.setattr(module("own_rows"), "_canonical", lambda column, unit: exp.maybe_parse(owner, dialect="duckdb"))


def a_rank_as_cheap_as_a_row(patch):
    patch.setattr(Quantile, "weight", 1)


def a_sum_without_its_bounds(patch):
    """One row is taken to add at most one step, whatever the bounds of its column."""
    whole = bounding._in_group
    patch.setattr(bounding, "_in_group", lambda measure, caps, total: min(whole(measure, caps, total), caps.max_rows))


PLANTED: list[Patch] = [
    halved_sensitivity,
    forgotten_groups_in_l2,
    no_clamping,
    no_sampling_of_groups,
    no_sampling_of_rows,
    no_cap_on_rows,
    no_scaling_of_heavy_units,
    groups_sampled_over_all_units,
    no_cap_on_distinct_values,
    every_spelling_a_unit,
    every_row_without_a_unit_a_unit,
    a_rank_as_cheap_as_a_row,
    a_sum_without_its_bounds,
]


@pytest.mark.parametrize("planted", [halved_sensitivity, no_sampling_of_rows, no_cap_on_rows])
def test_a_planted_wrong_bound_is_caught_over_other_sources(planted, monkeypatch):
    planted(monkeypatch)
    with pytest.raises(Violation, match="seed"):
        for _ in fuzz(3, pairs=ENOUGH, sources=True):
            pass


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.__name__)
def test_a_planted_wrong_bound_is_caught(planted, monkeypatch):
    planted(monkeypatch)
    with pytest.raises(Violation, match="seed"):
        for _ in fuzz(1, pairs=ENOUGH):
            pass


def _untouched(tree, known):
    return tree


def _instead(patch, rule, other):
    """Put another rule in the place of `rule`, wherever it stands."""
    for way in ("SUM_RULES", "DISTINCT_RULES", "TALLY_RULES"):
        changed = tuple(other if step is rule else step for step in getattr(statements, way))
        patch.setattr(statements, way, changed)


TIED = "DP-SELECT 1/3 DELTA 1e-3 COUNT(DISTINCT uid) FROM t GROUP BY g, FLOOR(m / -9223372036854775807)"


@pytest.mark.parametrize("broken", [False, True])
def test_a_unit_whose_groups_have_equal_hashes_is_in_no_more_of_them_than_it_may(broken, monkeypatch):
    """Were all hashes equal: only the query that settles ties leaves out the groups too many."""
    monkeypatch.setattr(sys.modules["tacit.sql.rules.sample_groups"], "keyed_hash", lambda *_: exp.Literal.number(1))
    if broken:
        unsettled = sql_sensitivity._in_every_world
        monkeypatch.setattr(sql_sensitivity, "_settled", lambda made, *more: unsettled(made.sql("duckdb"), *more))
    table = random_table(Rng(505), rows=30, units=10)
    with pytest.raises(Violation, match="moves by") if broken else nullcontext():
        check(table.world.plan(TIED), table, connection=table.world.engine._connection.cursor())
    table.world.engine.close()
