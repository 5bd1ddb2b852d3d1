"""What every engine owes the curator. A new engine joins by one line in `engine_words.ENGINES`."""

from __future__ import annotations

import logging
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import date

import numpy as np
import pytest

from conformance.engine_words import CANARY, ENGINES, FAILING, ON_A_CLUSTER, Words
from tacit.engines import Engine, Exact, Limits, open_engine, unreadable_tables
from tacit.errors import EngineError
from tacit.policy import Policy


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], tuple[Policy, Engine]]]:
    """Every engine's policy and engine, each made once."""
    made: dict[str, tuple[Policy, Engine]] = {}

    def opened(named: str) -> tuple[Policy, Engine]:
        if named not in made:
            policy = ENGINES[named][0](tmp_path_factory.mktemp(named))
            made[named] = policy, open_engine(policy)
        return made[named]

    yield opened
    for _, engine in made.values():
        engine.close()


def marks(named: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.cluster] if named in ON_A_CLUSTER else []


@pytest.fixture(params=[pytest.param(named, marks=marks(named)) for named in ENGINES])
def named(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def words(named: str) -> Words:
    return ENGINES[named][1]


@pytest.fixture
def policy(named: str, house: Callable[[str], tuple[Policy, Engine]]) -> Policy:
    return house(named)[0]


@pytest.fixture
def engine(named: str, house: Callable[[str], tuple[Policy, Engine]]) -> Engine:
    return house(named)[1]


def each(what: str) -> pytest.MarkDecorator:
    """A test for every engine and every one of its words of this kind."""
    cases = [
        pytest.param(named, case, id=f"{named}-{place}", marks=marks(named))
        for named, (_, words) in ENGINES.items()
        for place, case in enumerate(getattr(words, what))
    ]
    return pytest.mark.parametrize(("named", "case"), cases, indirect=["named"])


def failure(engine: Engine, sql: str) -> EngineError:
    with pytest.raises(EngineError) as caught:
        engine.execute(sql)
    return caught.value


def everything_said_by(error: BaseException) -> str:
    """All that a handler, a logger, a debugger or another process could print of an error."""
    assert error.__cause__ is None
    assert error.__context__ is None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [frame.f_locals for frame in frames if frame.f_globals["__name__"].startswith("tacit.")]
    assert ours
    printed = traceback.format_exception(error)
    return f"{error!r} {error} {error.args} {vars(error)} {pickle.dumps(error)!r} {printed} {ours}"


# ── what comes back ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_schema_names_the_policys_tables_and_nothing_else(engine):
    schema = engine.schema()
    assert (set(schema), schema["people"]["pay"]) == ({"people", "towns"}, "BIGINT")
    assert schema["towns"] == {"town": "VARCHAR"}


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 0])
def test_whole_numbers_come_back_exactly(engine, value):
    integers = engine.execute(f"SELECT CAST({value} AS BIGINT) AS n").integers("n")
    assert integers.dtype == np.int64
    assert integers.tolist() == [value]


def test_small_whole_numbers_are_widened(engine):
    assert engine.execute("SELECT CAST(-3 AS SMALLINT) AS n").integers("n").dtype == np.int64


def test_a_wide_sum_saturates_where_the_sql_says_so(engine, words):
    wide = f"CAST(9223372036854775807 AS {words.wide}) * CAST(x AS {words.wide})"
    sql = f"""SELECT CAST(CASE WHEN {wide} > 9223372036854775807 THEN 9223372036854775807
                               WHEN {wide} < -9223372036854775808 THEN -9223372036854775808
                               ELSE {wide} END AS BIGINT) AS n FROM (VALUES (1), (5), (-5)) AS v(x)"""
    assert sorted(engine.execute(sql).integers("n").tolist()) == [-(2**63), 2**63 - 1, 2**63 - 1]


@pytest.mark.parametrize("value", [0, 2**63, -(2**63) - 1, 2**100 + 1, 1 - 2**126])
def test_a_wide_sum_comes_back_exactly(engine, words, value):
    """As `add_up` writes it: of half the value twice, and the rest."""
    half, rest = value // 2, value - 2 * (value // 2)
    rows = ", ".join(f"(CAST('{cell}' AS {words.wide}))" for cell in (half, half, rest))
    sql = f"SELECT CAST(COALESCE(SUM(x), 0) AS {words.wide}) AS n FROM (VALUES {rows}) AS v(x)"
    assert engine.execute(sql).wide("n").tolist() == [value]


@each("not_integers")
def test_what_is_not_a_64_bit_whole_number_is_no_integer(engine, case):
    exact = engine.execute(f"SELECT {case} AS n")
    with pytest.raises(EngineError):
        exact.integers("n")


def test_one_null_among_integers_is_refused_not_filled(engine):
    exact = engine.execute("SELECT x AS n FROM (VALUES (1), (NULL)) AS v(x)")
    assert set(exact.keys("n")) == {1, None}
    with pytest.raises(EngineError):
        exact.integers("n")


@each("values")
def test_a_key_comes_back_as_the_policys_kind_of_value(engine, case):
    sql, value = case
    keys = engine.execute(f"SELECT {sql} AS k").keys("k")
    assert keys == [value]
    assert type(keys[0]) is type(value)


def test_keys_mix_with_null(engine):
    three = "(VALUES (DATE '2020-01-01'), (NULL), (NULL)) AS v(x)"
    sql = f"SELECT x AS k, CAST(count(*) AS BIGINT) AS n FROM {three} GROUP BY x"
    exact = engine.execute(sql)
    assert dict(zip(exact.keys("k"), exact.integers("n").tolist(), strict=True)) == {date(2020, 1, 1): 1, None: 2}


def test_nan_is_one_key(engine, words):
    is_nan = words.nan.format("score")
    exact = engine.execute(f"SELECT score AS k, count(*) AS n FROM people WHERE {is_nan} GROUP BY score")
    assert exact.rows == 1
    assert str(exact.keys("k")[0]) == words.nan_key
    assert exact.integers("n").tolist() == [1819]


@each("signless")
def test_the_sign_of_zero_does_not_tell_whose_row_came_first(engine, words, case):
    keys = engine.execute(f"SELECT {case} AS k FROM (VALUES (CAST(0 AS {words.double}))) AS v(x)").keys("k")
    assert str(keys[0]) == "0.0"


@each("no_keys")
def test_a_type_that_is_no_key_is_refused(engine, case):
    failure(engine, f"SELECT {case} AS k FROM people WHERE id = 5")


@pytest.mark.parametrize("twin", ["n", "N"])
def test_two_columns_of_one_name_are_refused(engine, twin):
    failure(engine, f"SELECT 1 AS n, 2 AS {twin}")


def test_an_empty_result_keeps_its_columns(engine):
    exact = engine.execute(
        "SELECT city AS k, joined AS d, count(*) AS n FROM people WHERE id < 0 GROUP BY city, joined"
    )
    assert exact.rows == 0
    assert (exact.integers("n").tolist(), exact.integers("n").dtype) == ([], np.int64)
    assert exact.keys("k") == exact.keys("d") == []


def test_a_million_groups_come_back(engine, words):
    exact = engine.execute(f"SELECT CONCAT('key-', i) AS k, CAST(i AS BIGINT) AS n FROM {words.series.format(1000000)}")
    assert exact.rows == len(exact.keys("k")) == 1_000_000
    assert int(exact.integers("n").sum()) == 499_999_500_000


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_failure_has_the_same_words(engine, words):
    errors = [failure(engine, sql) for sql in words.failing.values()]
    assert len({(type(error), error.args, error.hint, str(vars(error))) for error in errors}) == 1


@each("failing")
def test_no_cell_is_in_anything_a_failure_carries(engine, words, case):
    assert CANARY not in everything_said_by(failure(engine, words.failing[case]))


def test_a_limit_that_is_hit_fails_like_anything_else(policy, words):
    for sql, limit in {words.takes_long: Limits(timeout=words.timeout), **words.over_limits}.items():
        tight = open_engine(policy, limit)
        hit, other = failure(tight, sql), failure(tight, FAILING["a cast to a number"])
        assert (hit.args, hit.hint) == (other.args, other.hint)
        assert tight.execute("SELECT 1 AS n").integers("n").tolist() == [1]
        tight.close()


class Listener(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))


def test_what_the_engine_said_reaches_nobody_unless_the_curator_listens(engine, capfd, monkeypatch):
    everyone = Listener()
    log = logging.getLogger("tacit.engine")
    monkeypatch.setattr(log, "handlers", [ours for ours in log.handlers if type(ours) is logging.NullHandler])
    monkeypatch.setattr(logging, "lastResort", everyone)
    logging.getLogger().addHandler(everyone)
    try:
        failure(engine, FAILING["a cast to a number"])
    finally:
        logging.getLogger().removeHandler(everyone)
    assert everyone.heard == []
    assert CANARY not in "".join(capfd.readouterr())


def test_the_curators_log_has_the_engines_own_words(engine):
    curator = Listener()
    logging.getLogger("tacit.engine").addHandler(curator)
    try:
        failure(engine, FAILING["a cast to a number"])
    finally:
        logging.getLogger("tacit.engine").removeHandler(curator)
    assert any(f"{CANARY}-name-" in line for line in curator.heard)


# ── ways out (what DuckDB in particular must refuse is in unit/test_engine_lock.py) ──────────────────────────────────


@each("writes")
def test_nothing_is_written(engine, case):
    failure(engine, case)
    assert engine.execute("SELECT CAST(count(*) AS BIGINT) AS n FROM towns").integers("n").tolist() == [1]
    failure(engine, "SELECT 1 AS n FROM copy")


def test_times_are_in_utc_wherever_the_machine_stands(policy, words, monkeypatch):
    for name in ("TZ", "PGTZ"):
        monkeypatch.setenv(name, "America/New_York")
    opened = open_engine(policy)
    sql, text = words.utc
    assert opened.execute(f"SELECT {sql} AS k").keys("k") == [text]
    opened.close()


def test_what_the_policy_does_not_declare_has_no_name(engine):
    failure(engine, "SELECT secret FROM undeclared")


# ── many at once ─────────────────────────────────────────────────────────────────────────────────────────────────────

BY_CITY = "SELECT city AS k, CAST(count(*) AS BIGINT) AS n, CAST(sum(pay) AS BIGINT) AS s FROM people GROUP BY city"


def groups(exact: Exact) -> dict[object, tuple[int, int]]:
    return dict(zip(exact.keys("k"), zip(exact.integers("n"), exact.integers("s"), strict=True), strict=True))


def test_eight_threads_get_the_answers_of_one(engine):
    alone = groups(engine.execute(BY_CITY))
    start = threading.Barrier(8)

    def ask(number: int) -> list[dict[object, tuple[int, int]]]:
        start.wait()
        answers = []
        for turn in range(10):
            if (number + turn) % 3 == 0:
                failure(engine, FAILING["a cast to a number"])
            answers.append(groups(engine.execute(BY_CITY)))
        return answers

    with ThreadPoolExecutor(8) as pool:
        for answers in pool.map(ask, range(8)):
            assert answers == [alone] * 10


def test_one_thread_and_two_give_the_same_whole_numbers(policy):
    seen = []
    for threads in (1, 2):
        opened = open_engine(policy, Limits(threads=threads))
        seen.append(groups(opened.execute(BY_CITY)))
        opened.close()
    assert seen[0] == seen[1]
    assert sum(n for n, _ in seen[0].values()) == 20_000


def test_a_policy_opens_twice_in_one_process(policy, engine):
    second = open_engine(policy, Limits(threads=1))
    try:
        assert groups(second.execute(BY_CITY)) == groups(engine.execute(BY_CITY))
    finally:
        second.close()
    assert engine.execute("SELECT 1 AS n").rows == 1


def test_a_question_is_interrupted_from_another_thread(policy, words):
    opened = open_engine(policy)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(failure, opened, words.takes_long)
        while not asking.done():  # an interrupt before the question has begun is lost, so: again
            opened.interrupt()
            wait([asking], timeout=0.05)
    assert asking.result().args == failure(opened, FAILING["nothing"]).args
    assert opened.execute("SELECT 1 AS n").rows == 1
    opened.close()


def test_a_closed_engine_answers_nothing_and_closes_again(policy):
    opened = open_engine(policy)
    for _ in range(2):
        opened.close()
    failure(opened, "SELECT 1 AS n")
    opened.interrupt()


def test_every_cell_is_readable(engine):
    assert unreadable_tables(engine) == ()
