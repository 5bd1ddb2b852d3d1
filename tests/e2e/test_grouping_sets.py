"""ROLLUP, CUBE and GROUPING SETS through the doors, against DuckDB's own, and against every unit's removal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from scipy import stats

import tacit
from conformance.engine_pairs import Script
from conformance.engine_sources import OTHERS
from conformance.sql_clinic import row_clinic
from conformance.sql_noiseless import switch_off
from conformance.sql_sensitivity import Violation
from conformance.sql_sets import Rng, check_sets, fuzz_sets, pair, plain_rows, planned, raw_world
from conformance.sql_tables import random_table
from conformance.sql_world import policy_of, world
from e2e.cli_clinic import CANARY, build, here
from e2e.people_with_gaps import COLUMNS, PEOPLE
from support.sources import Seeded
from tacit.curator import Curator, Session
from tacit.curator.jobs import pieces as batch_pieces
from tacit.ledger import SqliteLedger
from tacit.mechanisms import Laplace
from tacit.mechanisms.strategy import StrategyNoise
from tacit.sql.binding import post
from tacit.sql.workloads import sets as workload_sets

ANA = Session("ana")
FALSE_ALARM = 1e-9
ROLLUP = "dept, age, COUNT(*) AS n, GROUPING(dept, age) AS level FROM visits GROUP BY ROLLUP (dept, age)"


# ── one unit moves no set, and no strategy, farther than is paid for ─────────────────────────────────────────────────


def test_one_unit_moves_no_set_farther_than_its_share_pays_for():
    *_, tried = fuzz_sets(1, pairs=900)
    assert tried.pairs >= 900
    assert sum(tried.refused.values()) < tried.plans
    for kind in ("Joint", "Lone", "private", "Laplace in parts", "Spread.WEIGH_L1 Joint", "Spread.NONE Joint"):
        assert tried.seen[kind] >= 1, kind
    assert tried.seen["measurements of a joint"] > tried.seen["Joint"]  # some have several


GAUSSIAN = "DP-SELECT 1 DELTA 1e-3 COUNT(*), SUM(x) FROM t GROUP BY CUBE (g, m)"


@pytest.mark.parametrize("broken", [False, True])
def test_one_unit_moves_gaussian_bars_no_farther_than_their_rho(broken, monkeypatch):
    if broken:
        made = StrategyNoise.concentrated
        monkeypatch.setattr(
            StrategyNoise, "concentrated", lambda strategy, rho, **more: made(strategy, rho * Fraction(11, 10), **more)
        )
    seen: Counter[str] = Counter()
    with pytest.raises(Violation) if broken else nullcontext():
        for seed in range(400):
            table = random_table(Rng(seed), rows=30, units=10)
            policy = table.world.policy
            if policy.tables[0].unit_column is None and policy.budget.accounting is tacit.Accounting.ZCDP:
                cursor = table.world.engine._connection.cursor()
                check_sets(planned(table.world, GAUSSIAN), table, connection=cursor, seen=seen)
            table.world.engine.close()
            if seen["Gaussian"] >= 2:
                break
    assert broken or seen["Gaussian"] >= 2


def _all_to_each(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batch_pieces.Maker, "_given", lambda self, places: Fraction(1))


def _parts_for_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        StrategyNoise,
        "laplace",
        classmethod(lambda cls, strategy, scale: cls(strategy, tuple(Laplace(scale) for _ in strategy.parts))),
    )


def _numbers_for_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batch_pieces, "_scale", lambda measured: measured.noise.scale * measured.share)


def _a_tenth_less(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batch_pieces, "_scale", lambda measured: measured.noise.scale * Fraction(9, 10))


def _one_group_fewer(patch: pytest.MonkeyPatch) -> None:
    """The cells of a workload get noise as if a unit could be in one of them only."""
    made = batch_pieces.plan

    def planned(bound, policy, **more):
        found = made(bound, policy, **more)
        fewer = replace(found.caps, max_groups=1)
        noises = [replace(m, l1=m.in_group, l2=Fraction(m.in_group)) for m in found.measurements]
        return replace(found, caps=fewer, measurements=tuple(noises))

    patch.setattr(batch_pieces, "plan", planned)


BUGS = [_all_to_each, _parts_for_nothing, _numbers_for_nothing, _a_tenth_less, _one_group_fewer]


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug, monkeypatch):
    bug(monkeypatch)
    with pytest.raises(Violation):
        for _ in fuzz_sets(1, pairs=2_000):
            pass


# ── without noise, DuckDB's own answer ───────────────────────────────────────────────────────────────────────────────


def disagreements(tmp_path: Path, *, seed: int, worlds: int, questions: int) -> list[str]:
    found = []
    for number in range(worlds):
        rng = Rng(seed + number)
        made = raw_world(rng, by_row=rng.random() < 0.5)
        place = tmp_path / str(seed + number)
        place.mkdir()
        curator = made.curator(place)
        for _ in range(questions):
            tail = rng.random() < 0.5
            texts = pair(rng, tail=tail)
            ours = plain_rows(curator.ask(texts.asked, session=ANA).rows)
            theirs = plain_rows(made.engine._connection.cursor().execute(texts.raw).fetchall())
            if (ours != theirs) if tail else (Counter(ours) != Counter(theirs)):
                found.append(f"{texts.asked}\n{ours}\n{theirs}")
        curator.close()
    return found


def one_by_one(patch: pytest.MonkeyPatch) -> None:
    """No workload: every set is a statement of its own."""
    patch.setattr(batch_pieces.Maker, "_joint", lambda self, places: None)


@pytest.mark.parametrize("together", [True, False])
def test_without_noise_the_answer_is_duckdbs_own(together, monkeypatch, tmp_path):
    switch_off(monkeypatch)
    if not together:
        one_by_one(monkeypatch)
    assert disagreements(tmp_path, seed=3, worlds=2, questions=25) == []


@pytest.mark.heavy
def test_without_noise_hundreds_of_answers_are_duckdbs_own(monkeypatch, tmp_path):
    switch_off(monkeypatch)
    assert disagreements(tmp_path, seed=100, worlds=10, questions=40) == []


def _forgotten_domains(patch: pytest.MonkeyPatch) -> None:
    one_by_one(patch)  # together, the cells are the domains
    patch.setattr(workload_sets, "in_domain", lambda key: None)


def _mirrored_bits(patch: pytest.MonkeyPatch) -> None:
    made = post.grouped_by
    mirrored = {True: lambda leaf: post.Grouping(leaf.keys[::-1]), False: lambda leaf: leaf}
    patch.setattr(
        post,
        "grouped_by",
        lambda value, keys: made(mirrored[isinstance(value, post.Grouping)](value), keys),
    )


def _sorted_axes(patch: pytest.MonkeyPatch) -> None:
    from tacit.curator.jobs import members

    patch.setattr(members, "_order", lambda joint, member: tuple(range(len(joint.cells.classes))))


@pytest.mark.parametrize("bug", [_forgotten_domains, _mirrored_bits, _sorted_axes])
def test_a_wrong_answer_is_noticed(bug, monkeypatch, tmp_path):
    switch_off(monkeypatch)
    bug(monkeypatch)
    assert disagreements(tmp_path, seed=3, worlds=1, questions=20) or disagreements(
        tmp_path, seed=4, worlds=1, questions=30
    )


GROUPINGS = (
    "dept, insured, COUNT(*) FROM t GROUP BY CUBE (dept, insured)",
    "insured, DATE_TRUNC('month', seen), COUNT(*), SUM(age) FROM t GROUP BY ROLLUP (1, 2)",
    "age < 30 AS young, dept, COUNT(DISTINCT age) FROM t GROUP BY GROUPING SETS ((young), (dept), ())",
)


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_every_engine_finds_the_same_rows(name: str, monkeypatch, tmp_path: Path) -> None:
    switch_off(monkeypatch)
    policy = policy_of([tacit.TablePolicy("t", "row", columns=COLUMNS)])
    found = []
    for engine in (world(policy, *PEOPLE).engine, OTHERS[name].opened(Script(policy, PEOPLE))):
        place = tmp_path / str(len(found))
        place.mkdir()
        curator = Curator(policy, engine, SqliteLedger(place / "t.ledger", create=True))
        answers = [curator.ask(f"DP-SELECT 300 {text}", session=ANA) for text in GROUPINGS]
        found.append([plain_rows([(*row, 1, 1, 1) for row in answer.rows]) for answer in answers])
        curator.close()
    assert found[0] == found[1]


# ── error bars ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_error_bars_of_every_set_hold_and_are_not_idle(tmp_path):
    """COUNT, SUM and AVG of nine groups in four sets, 25 times. By the union bound each bar holds at 95 % at least."""
    made = row_clinic()
    numbers = "COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS a"
    asked = f"dept, insured, {numbers} FROM visits GROUP BY CUBE (dept, insured)"
    raw = f"SELECT dept, insured, {numbers} FROM visits WHERE dept <> 'Art' GROUP BY CUBE (dept, insured)"
    true = {row[:2]: row[2:] for row in made.engine._connection.cursor().execute(raw).fetchall()}
    misses = narrow = count = 0
    for seed in range(25):
        place = tmp_path / str(seed)
        place.mkdir()
        answer = made.curator(place, source=Seeded(seed)).ask(f"DP-SELECT 1/2 {asked}", session=ANA)
        for row, errors in zip(answer.rows, answer.errors, strict=True):
            for value, exact, width in zip(row[2:], true[row[:2]], errors[2:], strict=True):
                misses += abs(value - float(exact)) > width
                narrow += abs(value - float(exact)) > width / 4
                count += 1
    assert misses <= stats.binom.isf(FALSE_ALARM, count, 0.05)
    assert narrow > stats.binom.isf(FALSE_ALARM, count, 0.05)  # bars four times as narrow would be noticed


# ── the doors ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    build(tmp_path)
    return tmp_path


@pytest.fixture
def db(tmp_path: Path) -> Iterator[tacit.Database]:
    with tacit.open(build(tmp_path), analyst="ana") as database:
        yield database


def spent(directory: Path) -> str:
    return str(here("budget", "--as", "ana", "--format", "json", cwd=directory).json)


def test_the_command_line_prints_one_table_for_one_price(clinic: Path) -> None:
    ran = here("query", "--as", "ana", "--format", "json", f"DP-SELECT 0.5 {ROLLUP}", cwd=clinic)
    assert ran.code == 0, ran.err
    answer = ran.json
    assert answer["columns"] == ["dept", "age", "n", "level"]
    assert (answer["epsilon"], answer["delta"], answer["left"]["epsilon"]) == ("0.5", "0", "3.5")
    levels = Counter(row[3] for row in answer["rows"])
    assert levels == {0: 3 * 73, 1: 3, 3: 1}
    for row, errors in zip(answer["rows"], answer["errors"], strict=True):
        assert [row[0] is None, row[1] is None] == [bool(row[3] & 2), bool(row[3] & 1)]
        assert errors[0] is errors[1] is errors[3] is None
        assert errors[2] > 0
    log = here("ledger", "log", "--format", "json", cwd=clinic)
    assert log.out.count("3 grouping sets") == 1
    assert CANARY not in ran.out + ran.err


def test_totals_are_the_sums_of_their_cells(db: tacit.Database) -> None:
    rows = db.query(f"DP-SELECT 1 {ROLLUP}").rows
    total = next(row[2] for row in rows if row[3] == 3)
    assert sum(row[2] for row in rows if row[3] == 1) == pytest.approx(total, abs=1e-6)
    for dept in ("CS", "Econ", "Bio"):
        cells = sum(row[2] for row in rows if row[0] == dept and row[3] == 0)
        assert cells == pytest.approx(next(row[2] for row in rows if row[0] == dept and row[3] == 1), abs=1e-6)


def test_a_table_has_null_where_a_column_is_rolled_up(clinic: Path) -> None:
    text = "DP-SELECT 1 dept, COUNT(*) AS n FROM visits GROUP BY ROLLUP (dept)"
    ran = here("query", "--as", "ana", text, cwd=clinic)
    assert ran.code == 0, ran.err
    assert "NULL" in ran.out
    assert "2 sets together" in " ".join(ran.out.split())


def test_private_keys_share_the_delta(db: tacit.Database) -> None:
    answer = db.query("DP-SELECT 1 DELTA 1e-6 city, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city)")
    assert answer.cost == tacit.Loss(1, "1e-6")
    assert [row[0] for row in answer.rows] == [None]  # every city has one patient
    assert CANARY not in answer.to_json() + answer.to_markdown() + repr(answer)


def test_a_rehearsal_is_free(clinic: Path) -> None:
    before = spent(clinic)
    ran = here("query", "--as", "ana", "--dummy", "--format", "json", f"DP-SELECT 3 {ROLLUP}", cwd=clinic)
    assert ran.code == 0, ran.err
    assert ran.json["epsilon"] == "0"
    assert len(ran.json["rows"]) == 3 * 73 + 3 + 1
    assert spent(clinic) == before


def test_explain_shows_every_set_and_costs_nothing(clinic: Path) -> None:
    before = spent(clinic)
    shown = here("explain", "--as", "ana", "--format", "json", f"DP-SELECT 1 {ROLLUP}", cwd=clinic)
    assert shown.code == 0, shown.err
    found = shown.json
    assert (found["epsilon"], found["delta"]) == ("1", "0")
    assert [each["name"] for each in found["sets"]] == ["(dept, age)", "(dept)", "()"]
    for each in found["sets"]:
        assert each["errors"][2] > 0
        assert each["errors"][3] is None
        assert each["how"].startswith("together with 2 others")
    assert found["errors"][2] == max(each["errors"][2] for each in found["sets"])
    assert "SELECT" in found["sql"]
    text = here("query", "--as", "ana", f"EXPLAIN DP-SELECT 1 {ROLLUP}", cwd=clinic)
    assert "set          (dept, age): n ±" in text.out
    assert spent(clinic) == before
    assert CANARY not in shown.out + text.out


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("DP-SELECT 1 COUNT(*) FROM visits GROUP BY dept WITH ROLLUP", 3, "WITH ROLLUP is refused"),
        ("DP-SELECT 1 COUNT(*) FROM visits GROUP BY CUBE (dept, age, age + 1, age + 2)", 3, "makes too many groups"),
        ("DP-SELECT 1 GROUPING(city), COUNT(*) FROM visits GROUP BY ROLLUP (dept)", 3, "GROUPING needs keys"),
        ("DP-SELECT 1 city, COUNT(*) FROM visits GROUP BY ROLLUP (city)", 3, "the group keys are private"),
        ("DP-SELECT 1 COUNT(*) FROM visits GROUP BY ROLLUP (patient_id)", 3, "GROUP BY patient_id is refused"),
        ("DP-SELECT 4.5 dept, COUNT(*) FROM visits GROUP BY ROLLUP (dept)", 4, "does not cover"),
    ],
)
def test_what_cannot_be_asked_is_said_and_costs_nothing(clinic: Path, text: str, code: int, says: str) -> None:
    before = spent(clinic)
    ran = here("query", "--as", "ana", text, cwd=clinic)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("error: ")
    assert says in ran.err
    assert spent(clinic) == before


# ── EXPLAIN of a batch ───────────────────────────────────────────────────────────────────────────────────────────────

FILE = """\
SELECT COUNT(*) AS young FROM visits WHERE age < 40;
SELECT COUNT(*) AS n FROM visits WHERE age >= 40;
SELECT dept, COUNT(*) AS n FROM visits GROUP BY dept;
SELECT SUM(amount) AS total FROM visits
"""


def test_explain_of_a_batch_shows_the_strategy_its_gain_and_every_question(clinic: Path) -> None:
    (clinic / "questions.sql").write_text(FILE, encoding="utf-8")
    before = spent(clinic)
    arguments = ("explain", "--as", "ana", "--batch", "questions.sql", "--eps", "1")
    ran = here(*arguments, "--format", "json", cwd=clinic)
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["epsilon"], found["delta"]) == ("1", "0")
    assert [each["columns"] for each in found["questions"]] == [["young"], ["n"], ["dept", "n"], ["total"]]
    assert found["errors"] == [each["errors"] for each in found["questions"]]
    assert found["questions"][2]["errors"][0] is None
    assert found["questions"][3]["how"] == "alone"
    assert found["sql"].count("SELECT") >= 2
    text = here(*arguments, cwd=clinic)
    for word in ("price        ε = 1 for 4 questions", "answers      ", "question     SELECT"):
        assert word in text.out, word
    assert spent(clinic) == before
    assert CANARY not in ran.out + text.out


def test_what_explain_expects_is_what_the_answer_states(db: tacit.Database) -> None:
    ages = [f"SELECT COUNT(*) AS n FROM visits WHERE age BETWEEN {low} AND 88" for low in range(18, 60, 6)]
    asked = [*ages, "SELECT SUM(amount) AS s FROM visits"]
    shown, answers = db.explain_batch(asked, epsilon=1), db.batch(asked, epsilon=1)
    assert [question.errors[0] for question in shown.questions] == pytest.approx(
        [answer.errors[0][0] for answer in answers]
    )
    assert shown.plan == answers.receipt.plan
    assert shown.loss == answers.cost
    assert "times lower than one by one" in shown.strategies[-1]
    joint = [question for question in shown.questions if question.how != "alone"]
    assert len(joint) == len(ages)
    assert sum(q.errors[0] ** 2 for q in joint) < sum(q.alone[0] ** 2 for q in joint)


def test_what_explain_expects_of_a_set_is_what_its_rows_state(db: tacit.Database) -> None:
    shown, answer = db.explain(f"DP-SELECT 1 {ROLLUP}"), db.query(f"DP-SELECT 1 {ROLLUP}")
    for each, level in zip(shown.sets, (0, 1, 3), strict=True):
        widths = [errors[2] for row, errors in zip(answer.rows, answer.errors, strict=True) if row[3] == level]
        assert each.errors[2] == pytest.approx(max(widths))


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--batch", "questions.sql"], 2, "the batch has no price"),
        (["--batch", "questions.sql", "--eps", "1", "--format", "csv"], 2, "several tables"),
        (["--batch", "questions.sql", "--eps", "1", "--format", "markdown"], 2, "an explanation has no markdown form"),
        (
            ["--batch", "rolled.sql", "--eps", "1"],
            3,
            "question 1: ROLLUP, CUBE and GROUPING SETS are refused in a batch",
        ),
    ],
)
def test_what_cannot_be_explained_is_said(clinic: Path, arguments: list[str], code: int, says: str) -> None:
    (clinic / "questions.sql").write_text(FILE, encoding="utf-8")
    (clinic / "rolled.sql").write_text("SELECT COUNT(*) FROM visits GROUP BY ROLLUP (dept)", encoding="utf-8")
    ran = here("explain", "--as", "ana", *arguments, cwd=clinic)
    assert (ran.code, ran.out) == (code, "")
    assert says in " ".join(ran.err.split())
