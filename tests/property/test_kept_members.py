"""Answers are kept one by one: those of a batch or of grouping sets serve questions alone, and the other way round."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

from conformance.sql_clinic import clinic, row_clinic
from conformance.sql_noiseless import switch_off
from tacit.core import Loss
from tacit.curator import Session
from tacit.curator.jobs.job import Job
from tacit.curator.reusing import derive, rest, reuse
from tacit.errors import InvalidParameter, QueryRefused, RequestConflict

ANA = Session("ana")
RANGES = [f"SELECT COUNT(*) FROM visits WHERE age < {age}" for age in range(20, 90, 10)]
BY = "dept, insured, COUNT(*) AS n, SUM(age) AS s FROM visits"
ROLLUP = f"{BY} GROUP BY ROLLUP (dept, insured)"
POOL = (
    "dept, COUNT(*) AS n FROM visits GROUP BY dept",
    "COUNT(*) AS n FROM visits WHERE dept = 'CS'",
    "COUNT(*) AS n FROM visits",
    "dept, insured, COUNT(*) AS n FROM visits GROUP BY dept, insured",
    "insured, COUNT(*) AS n FROM visits GROUP BY insured",
    "COUNT(*) AS n FROM visits WHERE age < 40",
    "COUNT(*) AS n FROM visits WHERE age < 60",
    "COUNT(*) AS n FROM visits WHERE age BETWEEN 40 AND 59",
    "SUM(age) AS s FROM visits",
    "dept, SUM(age) AS s FROM visits GROUP BY dept",
    "dept, AVG(age) AS a FROM visits GROUP BY dept",
    "MEDIAN(age) AS m FROM visits",
    "MODE(dept) AS m FROM visits",
    "COUNT(DISTINCT dept) AS d FROM visits",
)
WORLDS = {"people": clinic, "rows": row_clinic, "sampled": lambda: clinic(bounding="sample")}


def alike(one, other) -> bool:
    """The same rows in some order, a number being what least squares makes of it."""
    first, second = (sorted(map(_plain, release.rows), key=repr) for release in (one, other))
    return len(first) == len(second) and all(
        a == b or (isinstance(a, float) and a == pytest.approx(b, abs=1e-6))
        for row, twin in zip(first, second, strict=True)
        for a, b in zip(row, twin, strict=True)
    )


def _plain(row):
    return tuple(
        round(float(cell), 6) if isinstance(cell, (int, float)) and not isinstance(cell, bool) else cell for cell in row
    )


def mixed(seed, made, directory):
    """Ask alone and in batches, at prices that rise and fall; whatever is given again says what a fresh answer says."""
    rng, seen = random.Random(seed), {"served": 0, "batches": 0}
    curator = made.curator(directory)
    exact = made.policy.table("visits").unit_column is None
    for _ in range(7):
        texts = rng.sample(POOL, rng.choice((1, 1, 2, 4)))
        epsilon = rng.choice(("1/4", "1/2", "1"))
        if len(texts) == 1:
            answers = [curator.ask(f"DP-SELECT {epsilon} {texts[0]}", session=ANA)]
        else:
            answers = list(curator.batch([f"SELECT {text}" for text in texts], session=ANA, epsilon=Fraction(epsilon)))
            seen["batches"] += any(answer.reused for answer in answers)
        for text, found in zip(texts, answers, strict=True):
            seen["served"] += found.reused is not None
            narrower = any("are not in it" in note for note in found.notes)  # and said to be
            if found.reused is not None and not narrower and (exact or found.reused == "the same question"):
                fresh = curator.ask(f"DP-SELECT {epsilon} FRESH {text}", session=ANA)
                assert alike(found, fresh) or not exact, f"{text}: {found.rows} {fresh.rows} ({found.reused})"
    curator._ledger.close()
    return seen


@pytest.mark.parametrize("over", WORLDS)
def test_what_is_given_again_is_what_a_fresh_answer_would_be(tmp_path, monkeypatch, over):
    switch_off(monkeypatch)
    served = batches = 0
    for seed in range(6):
        (tmp_path / str(seed)).mkdir()
        seen = mixed(seed, WORLDS[over](), tmp_path / str(seed))
        served, batches = served + seen["served"], batches + seen["batches"]
    assert served >= 5


def swapped_members(patch):
    """Defect: answers are kept in the wrong order."""
    patch.setattr(Job, "answering", property(lambda job: tuple(reversed(range(len(job.piece_of))))))


def test_answers_kept_in_the_wrong_order_are_caught(tmp_path, monkeypatch):
    switch_off(monkeypatch)
    made = row_clinic()
    curator = made.curator(tmp_path)
    texts = ["dept, COUNT(*) AS n FROM visits GROUP BY dept", "MEDIAN(age) AS m FROM visits"]
    curator.batch([f"SELECT {text}" for text in texts], session=ANA, epsilon=1)
    swapped_members(monkeypatch)
    again = curator.batch([f"SELECT {text}" for text in texts], session=ANA, epsilon=1)
    with monkeypatch.context() as undone:
        undone.undo()
        switch_off(undone)
        fresh = [curator.ask(f"DP-SELECT 1 FRESH {text}", session=ANA) for text in texts]
    assert not all(alike(found, one) for found, one in zip(again, fresh, strict=True))


@pytest.fixture
def by_row(tmp_path):
    return row_clinic().curator(tmp_path)


def test_after_a_batch_each_of_its_questions_is_free_where_it_is_no_noisier_than_asked(by_row):
    batch = by_row.batch(RANGES, session=ANA, epsilon=1)
    for text, given in zip(RANGES, batch, strict=True):
        found = by_row.ask(f"DP-SELECT 1/20 {text.removeprefix('SELECT ')}", session=ANA)
        assert (found.cost, found.reused) == (Loss(0), "the same question")
        assert found.rows == given.rows
        assert found.errors == given.errors
        assert found.receipt.entry == batch.receipt.entry
        assert any("estimated" in text for text in found.receipt.mechanisms)
    sharper = by_row.ask(f"DP-SELECT 3 {RANGES[0].removeprefix('SELECT ')}", session=ANA)
    assert (sharper.cost.epsilon, sharper.reused) == (3, None)
    assert sharper.errors[0][0] < batch[0].errors[0][0]


def test_after_its_questions_alone_a_batch_is_free(by_row):
    texts = ["COUNT(*) FROM visits", "dept, COUNT(*) FROM visits GROUP BY dept"]
    alone = [by_row.ask(f"DP-SELECT 2 {text}", session=ANA) for text in texts]
    batch = by_row.batch([f"SELECT {text}" for text in texts], session=ANA, epsilon=1)
    assert (batch.cost, batch.reused) == (Loss(0), "the same questions")
    assert [answer.rows for answer in batch] == [answer.rows for answer in alone]
    assert [answer.receipt.entry for answer in batch] == [answer.receipt.entry for answer in alone]
    assert all(any("was given" in note for note in answer.notes) for answer in batch)
    more = by_row.batch([*(f"SELECT {text}" for text in texts), "SELECT SUM(age) FROM visits"], session=ANA, epsilon=1)
    assert (more.cost, more.reused) == (Loss(Fraction(1, 3)), None)
    assert [answer.rows for answer in more[:2]] == [answer.rows for answer in alone]


KNOWN = ["SELECT MEDIAN(age) FROM visits", "SELECT dept, COUNT(*) AS n FROM visits GROUP BY dept"]
NEW = [
    "SELECT SUM(amount) AS s FROM visits",
    "SELECT dept, n * 2 AS twice FROM (SELECT dept, MAX(age) AS n FROM visits GROUP BY dept)",
]


def partly(curator, *, delta=None):
    """Two questions alone at a high price, then a batch that has them among others."""
    alone = [curator.ask(text.replace("SELECT", "DP-SELECT 3", 1), session=ANA) for text in KNOWN]
    texts = [NEW[0], KNOWN[0], NEW[1], KNOWN[1]]
    return alone, texts, curator.explain_batch(texts, session=ANA, epsilon=2, delta=delta)


def test_a_batch_pays_for_what_is_not_known_and_says_so(by_row):
    alone, texts, shown = partly(by_row)
    before = by_row.balance("ana").total.spent.epsilon
    batch = by_row.batch(texts, session=ANA, epsilon=2)
    assert batch.cost == Loss(1) == Loss(by_row.balance("ana").total.spent.epsilon - before)
    assert [batch[1].rows, batch[3].rows] == [answer.rows for answer in alone]
    assert [batch[1].errors, batch[3].errors] == [answer.errors for answer in alone]
    assert [answer.reused for answer in batch] == [None, "the same question", None, "the same question"]
    assert "2 questions from earlier answers, free" in batch.strategies
    assert "2 questions from earlier answers, free: asked now, the rest costs ε = 1" in shown.notes
    assert shown.loss == Loss(2)
    charge, settled = reversed(by_row.log("ana", limit=2))
    assert len(charge.asked.questions) == 2
    assert batch.receipt.entry == batch[0].receipt.entry == settled.hash
    assert (batch.receipt.plan, batch.receipt.guarantee[:5]) == (charge.plan_hash, "ε = 1")
    assert batch.receipt.guarantee.endswith("for 2 of 4 questions")
    assert [batch[1].receipt.entry, batch[3].receipt.entry] == [answer.receipt.entry for answer in alone]
    assert "one of 2 questions of a batch, which is charged once" in batch[0].notes
    assert batch[2].columns == ("dept", "twice")


def test_what_was_paid_of_a_batch_is_planned_again_shown_again_and_free_the_next_time(by_row):
    _, texts, _ = partly(by_row)
    batch = by_row.batch(texts, session=ANA, epsilon=2, request_id="r")
    charge, settled = reversed(by_row.log("ana", limit=2))
    assert by_row.replay(charge).agrees
    assert [answer.rows for answer in by_row.given(settled.hash, session=ANA)] == [batch[0].rows, batch[2].rows]
    again = by_row.batch(texts, session=ANA, epsilon=2, request_id="r")
    assert again.cost == Loss(0)
    assert [answer.rows for answer in again] == [answer.rows for answer in batch]
    assert "4 questions from earlier answers, free: asked now, it is free" in (
        by_row.explain_batch(texts, session=ANA, epsilon=2).notes
    )
    assert by_row.batch(texts, session=ANA, epsilon=2, fresh=True).cost == Loss(2)


@pytest.fixture
def changing(monkeypatch):
    """Lets the data change: the states that answers are kept of have this name from then on."""
    return lambda name: monkeypatch.setattr(reuse, "data_version", lambda policy, engine: name)


def same(one, other) -> bool:
    return [(each.rows, each.errors) for each in one] == [(each.rows, each.errors) for each in other]


def test_a_batch_that_was_paid_in_part_is_given_again_by_its_id_after_the_data_changed(by_row, changing):
    _, texts, _ = partly(by_row)
    batch = by_row.batch(texts, session=ANA, epsilon=2, request_id="r")
    spent = by_row.balance("ana").total.spent
    for name in ("two", "three"):
        changing(name)
        again = by_row.batch(texts, session=ANA, epsilon=2, request_id="r")
        assert same(again, batch)
        assert again.cost == Loss(0)
    assert by_row.balance("ana").total.spent == spent


def test_a_batch_that_was_paid_whole_is_given_again_by_its_id_whatever_is_kept_since(by_row, changing):
    _, texts, _ = partly(by_row)
    changing("two")
    batch = by_row.batch(texts, session=ANA, epsilon=2, request_id="r")
    assert batch.cost == Loss(2)
    changing("three")
    partly(by_row)
    spent = by_row.balance("ana").total.spent
    assert same(by_row.batch(texts, session=ANA, epsilon=2, request_id="r"), batch)
    assert by_row.balance("ana").total.spent == spent


def test_an_id_that_stands_for_other_questions_is_refused_whatever_is_kept_of_any_state(by_row, changing):
    _, texts, _ = partly(by_row)
    by_row.batch(texts, session=ANA, epsilon=2, request_id="r")
    spent = by_row.balance("ana").total.spent
    changing("two")
    for others in (texts[:3], [*texts, POOL[4].replace("insured,", "SELECT insured,", 1)], KNOWN, NEW[::-1]):
        with pytest.raises(RequestConflict):
            by_row.batch(others, session=ANA, epsilon=2, request_id="r")
    with pytest.raises(RequestConflict):
        by_row.batch(texts, session=ANA, epsilon=3, request_id="r")
    with pytest.raises(RequestConflict):
        by_row.ask("DP-SELECT 1 COUNT(*) FROM visits WHERE age < 30", session=ANA, request_id="r")
    assert by_row.balance("ana").total.spent == spent


def test_one_question_that_is_left_is_charged_alone(by_row):
    by_row.ask("DP-SELECT 3 MEDIAN(age) FROM visits", session=ANA)
    batch = by_row.batch(["SELECT MEDIAN(age) FROM visits", "SELECT SUM(age) FROM visits"], session=ANA, epsilon=2)
    assert batch.cost == Loss(1)
    assert "charged alone" in batch[1].notes
    assert "1 question from earlier answers, free" in batch.strategies


HALVES = [
    f"SELECT dept, COUNT(*) AS {name} FROM visits WHERE {where} GROUP BY dept"
    for name, where in (("n", "age < 40"), ("m", "insured"))
]


@pytest.mark.parametrize("known", HALVES)
def test_a_statement_known_in_part_is_paid_for_whole_and_its_answers_stay_in_order(tmp_path, monkeypatch, known):
    """Of two questions of one statement one is known, but asked anew beside the other: neither takes the other's."""
    switch_off(monkeypatch)
    curator = row_clinic().curator(tmp_path)
    for text in (known, KNOWN[0]):
        curator.ask(text.replace("SELECT", "DP-SELECT 9", 1), session=ANA)
    asked = f"WITH a AS ({HALVES[0]}), b AS ({HALVES[1]}) {{}} a.dept, n, m FROM a JOIN b USING (dept)"
    batch = curator.batch([KNOWN[0], asked.format("SELECT")], session=ANA, epsilon=2)
    assert [answer.reused for answer in batch] == ["the same question", None]
    assert alike(batch[1], curator.ask(asked.format("DP-SELECT 2 FRESH"), session=ANA))


def worse(batch, shown) -> list[int]:
    """The answers of a batch with a larger error than was said of the whole beforehand."""
    return [
        place
        for place, (answer, told) in enumerate(zip(batch, shown.questions, strict=True))
        for errors in answer.errors
        for error, most in zip(errors, told.errors, strict=True)
        if error is not None and most is not None and error > most * (1 + 1e-9)
    ]


def tried_in_part(tmp_path, seeds):
    """Random batches of which some questions are known: how many were paid in part, and which came out noisier."""
    found = {"in part": 0, "worse": []}
    linear = [text for text in POOL if "AVG" not in text and "MEDIAN" not in text]  # whose errors are known beforehand
    for seed in seeds:
        rng = random.Random(seed)
        made = (row_clinic, clinic)[seed % 2]()
        (tmp_path / str(seed)).mkdir()
        curator = made.curator(tmp_path / str(seed))
        texts = rng.sample(linear, rng.randint(3, 8))
        for text in rng.sample(texts, rng.randint(1, 3)):
            curator.ask(f"DP-SELECT {rng.choice(['1/2', '2', '8'])} {text}", session=ANA)
        delta = rng.choice([None, Fraction(1, 10**6)])
        asked = [f"SELECT {text}" for text in texts]
        shown = curator.explain_batch(asked, session=ANA, epsilon=1, delta=delta)
        before = curator.balance("ana").total.spent.epsilon
        batch = curator.batch(asked, session=ANA, epsilon=1, delta=delta)
        assert batch.cost.epsilon == curator.balance("ana").total.spent.epsilon - before <= 1
        if 0 < batch.cost.epsilon < 1:
            found["in part"] += 1
            charge = curator.log("ana", limit=2)[1]
            assert curator.replay(charge).agrees
        found["worse"] += [(seed, texts[place]) for place in worse(batch, shown)]
        curator._ledger.close()
    return found


def test_no_answer_of_a_batch_paid_in_part_is_noisier_than_in_the_whole(tmp_path):
    found = tried_in_part(tmp_path, range(10))
    assert found["in part"] >= 3
    assert found["worse"] == []


@pytest.mark.parametrize("careless", [False, True])
def test_what_shares_a_histogram_is_given_so_much_that_it_loses_nothing(by_row, careless, monkeypatch):
    """Six of seven ranges are known; the planted bug asks the seventh for its share, at which it is noisier."""
    for text in RANGES[:6]:
        by_row.ask(f"DP-SELECT 9 {text[7:]}", session=ANA)
    shown = by_row.explain_batch(RANGES, session=ANA, epsilon=1)
    if careless:
        monkeypatch.setattr(rest, "_no_noisier", lambda job, wanted: True)
    batch = by_row.batch(RANGES, session=ANA, epsilon=1)
    assert (Fraction(1, 7) < batch.cost.epsilon < 1) is not careless
    assert (worse(batch, shown) == []) is not careless


def test_the_cells_of_a_rollup_serve_group_by_and_its_total_the_count(by_row):
    rolled = by_row.ask(f"DP-SELECT 1 {ROLLUP}", session=ANA)
    cells = by_row.ask(f"DP-SELECT 1/10 {BY} GROUP BY dept, insured", session=ANA)
    assert (cells.cost, cells.reused) == (Loss(0), "the same question")
    kept = {row[:2]: (row, errors) for row, errors in zip(rolled.rows, rolled.errors, strict=True)}
    assert cells.rows == tuple(kept[row[:2]][0] for row in cells.rows)
    assert cells.errors == tuple(kept[row[:2]][1] for row in cells.rows)
    assert by_row.ask("DP-SELECT 5 COUNT(*) FROM visits", session=ANA).reused is None


def test_grouping_sets_are_given_again_together_or_not_at_all(by_row):
    """Each set alone is known, but not from one draw: a total would not be the sum of its cells."""
    by_row.ask(f"DP-SELECT 9 {BY} GROUP BY dept, insured", session=ANA)
    by_row.ask(f"DP-SELECT 9 {BY} GROUP BY ROLLUP (dept)".replace("insured, ", ""), session=ANA)
    rolled = by_row.ask(f"DP-SELECT 1 {ROLLUP}", session=ANA)
    assert rolled.reused is None
    again = by_row.ask(f"DP-SELECT 1 {ROLLUP}", session=ANA)
    assert (again.reused, again.rows) == ("the same question", rolled.rows)


def test_estimates_are_picked_and_never_added_up(by_row):
    by_row.ask(f"DP-SELECT 8 {ROLLUP}", session=ANA)
    picked = by_row.ask("DP-SELECT 1 dept, insured, COUNT(*) FROM visits GROUP BY dept, insured", session=ANA)
    assert picked.reused == "some columns of an earlier answer"
    summed = by_row.ask("DP-SELECT 1/100 insured, COUNT(*) FROM visits GROUP BY insured", session=ANA)
    assert summed.reused is None  # over departments: their errors are correlated, and by how much is not kept


def test_what_is_kept_of_an_estimate_has_its_variances(by_row):
    batch = by_row.batch(RANGES, session=ANA, epsilon=1)
    (kept, *_) = [
        found
        for text in RANGES
        for found in by_row._ledger.kept(
            reuse_shelf(by_row), key=by_row.prepare(f"DP-SELECT 1 {text[7:]}", session=ANA).members[0].asked.key
        )
    ]
    body = json.loads(by_row._ledger.answer(kept))
    assert all(column["variances"] for column in body["columns"])
    assert len(batch) == len(RANGES)


def reuse_shelf(curator):
    from tacit.ledger import Shelf

    version = reuse.data_version(curator.policy, curator._engine)
    return Shelf(
        dataset=curator.policy.dataset.name,
        policy_version=curator.policy.version,
        data_version=version,
        analyst="ana",
    )


def test_an_answer_noisier_than_asked_is_never_given_again(by_row, monkeypatch):
    """The guard, and the planted bug that lets everything through."""
    by_row.batch(RANGES, session=ANA, epsilon=Fraction(1, 10))
    asked = f"DP-SELECT 1 {RANGES[3].removeprefix('SELECT ')}"
    assert by_row.explain(asked, session=ANA).errors[0] >= by_row.ask(asked, session=ANA).errors[0][0]
    by_row.batch(RANGES, session=ANA, epsilon=Fraction(1, 10), fresh=True)
    monkeypatch.setattr(derive, "_width", lambda *args: 0.0)
    slack = f"DP-SELECT 1 {RANGES[4].removeprefix('SELECT ')}"
    assert by_row.ask(slack, session=ANA).errors[0][0] > by_row.explain(slack, session=ANA).errors[0]


@pytest.mark.parametrize("within", ["10", "40", "8%"])
def test_within_finds_the_least_price_of_a_batch(by_row, within):
    texts = ["SELECT COUNT(*) FROM visits", "SELECT dept, COUNT(*) FROM visits GROUP BY dept", *RANGES[3:]]
    for _ in range(8):  # a pilot that sees next to nothing of a group is paid for, and refuses the answer
        with suppress(QueryRefused):
            spent = by_row.balance("ana").total.spent.epsilon
            batch = by_row.batch(texts, session=ANA, within=within, fresh=True)
            break
    limit = float(within.rstrip("%"))
    for answer in batch:
        for row, errors in zip(answer.rows, answer.errors, strict=True):
            assert "%" in within or errors[-1] <= limit  # a share is one of what the pilot saw
            assert isinstance(row[-1], (int, float))
    assert batch.cost.epsilon == by_row.balance("ana").total.spent.epsilon - spent
    if "%" not in within:
        worst = max(error for answer in batch for errors in answer.errors for error in errors if error is not None)
        assert worst > limit * 0.85
        shown = by_row.explain_batch(texts, session=ANA, within=within)
        assert shown.loss == batch.cost
    else:
        assert any("pilot" in text for text in batch.strategies)


@pytest.mark.parametrize("within", ["10", "100"])
def test_within_finds_the_least_price_of_grouping_sets(by_row, within):
    answer = by_row.ask(f"DP-SELECT WITHIN {within} dept, insured, COUNT(*) AS n FROM visits"
                        " GROUP BY ROLLUP (dept, insured)", session=ANA)  # fmt: skip
    errors = [error for row in answer.errors for error in row if error is not None]
    assert max(errors) <= float(within)
    cheaper = answer.cost.epsilon * Fraction(9, 10)
    worse = by_row.ask(
        f"DP-SELECT {cheaper} FRESH dept, insured, COUNT(*) AS n FROM visits GROUP BY ROLLUP (dept, insured)",
        session=ANA,
    )
    assert max(error for row in worse.errors for error in row if error is not None) > float(within) * 0.99


@pytest.mark.parametrize("prices", [{}, {"epsilon": 1, "within": 5}])
def test_a_batch_has_one_price(by_row, prices):
    with pytest.raises(InvalidParameter, match="one price"):
        by_row.batch(RANGES, session=ANA, **prices)
    assert by_row.balance("ana").total.spent.epsilon == 0


@pytest.mark.parametrize("within", ["", "-1", "0", "x", "%", "nan", "5%%"])
def test_a_bound_that_is_no_number_is_refused_free(by_row, within):
    with pytest.raises((InvalidParameter, QueryRefused)):
        by_row.batch(RANGES, session=ANA, within=within)
    assert by_row.balance("ana").total.spent.epsilon == 0


def test_error_bars_of_a_picked_answer_are_those_it_had(by_row):
    rolled = by_row.ask(f"DP-SELECT 2 {ROLLUP}", session=ANA)
    cs = {row[:2]: errors for row, errors in zip(rolled.rows, rolled.errors, strict=True)}
    found = by_row.ask(
        "DP-SELECT 1/10 dept, insured, COUNT(*) AS n FROM visits WHERE dept = 'CS' GROUP BY dept, insured", session=ANA
    )
    assert found.reused == "picked from an earlier answer"
    for row, errors in zip(found.rows, found.errors, strict=True):
        if row[0] == "CS":
            assert np.isclose(errors[2], cs[row[:2]][2], rtol=0.2)
        else:
            assert row[2] == 0


def test_one_cell_of_an_estimated_answer_is_that_cell(by_row):
    rolled = by_row.ask(f"DP-SELECT 2 {ROLLUP}", session=ANA)
    for dept, insured, count, _ in (row for row in rolled.rows if None not in row[:2]):
        condition = f"dept = '{dept}' AND {'' if insured else 'NOT '}insured"
        found = by_row.ask(f"DP-SELECT 1/10 COUNT(*) FROM visits WHERE {condition}", session=ANA)
        assert (found.reused, found.rows) == ("picked from an earlier answer", ((count,),))
