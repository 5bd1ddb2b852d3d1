"""WITHIN a share of the answer: told with ever less noise, for the price of the last telling."""

from __future__ import annotations

import contextlib
import gc
import itertools
import traceback
from dataclasses import replace
from fractions import Fraction

import pytest

from conformance.sql_clinic import clinic
from conformance.sql_world import policy_of, world
from support.sources import Seeded
from tacit.accounting import refined_charge
from tacit.core import Loss
from tacit.curator import Session, tellings
from tacit.curator.jobs.job import Tellings
from tacit.curator.measuring.measure import gradual
from tacit.curator.measuring.noisy import Noisy
from tacit.curator.tellings import TellingStep, following
from tacit.errors import BudgetExceeded, EngineError, InvalidParameter, LedgerError, QueryRefused, RequestConflict
from tacit.ledger import SqliteLedger
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, TablePolicy
from tacit.sql import WithinError

ANA = Session("ana")
FIVE = "DP-SELECT WITHIN 5% COUNT(*) FROM t"


def counted(tmp_path, rows, *, analyst=None, source=None, **budget):
    """A curator over a table of so many rows, each of them a unit; its noise is the same in every run."""
    policy = policy_of(
        [TablePolicy("t", "row")],
        budget=BudgetPolicy(budget.pop("epsilon", 10), **budget),
        analysts=[analyst or AnalystPolicy("ana", 10)],
    )
    made = world(policy, f"CREATE TABLE t AS FROM range({rows}) AS r(x)")
    return made.curator(tmp_path, source=source or Seeded(1))


def charges(curator):
    return [entry for entry in reversed(curator.log("ana", limit=1000)) if entry.act == "charge" and entry.epsilon]


@pytest.mark.parametrize("rows", [20_000, 1_000_000])
def test_an_answer_costs_what_its_accuracy_does_and_nothing_to_find_that(tmp_path, rows):
    """What is told last is off by a third with probability e⁻²⁰; its price is at most a tenth above what is needed."""
    curator = counted(tmp_path, rows)
    found = curator.ask(FIVE, session=ANA)
    ((answer,), (error,)) = (found.rows[0], found.errors[0])
    assert error <= 0.05 * answer
    assert Fraction(3, 4) * 3 / (rows // 20) <= found.cost.epsilon <= Fraction(3, 2) * 3 / (rows // 20)
    assert found.cost == Loss(curator.balance("ana").total.spent.epsilon)
    assert any("all of it costs what the last telling does" in note for note in found.notes)


def test_every_telling_is_charged_what_it_adds_and_in_zcdp_what_it_costs_by_itself(tmp_path):
    curator = counted(tmp_path, 3_000)
    found = curator.ask(FIVE, session=ANA)
    first, *finer = charges(curator)
    assert (first.kind, {entry.kind for entry in finer}) == ("query", {"telling"})
    prices = list(itertools.accumulate(entry.epsilon for entry in (first, *finer)))
    assert prices[-1] == found.cost.epsilon
    for entry, (before, after) in zip(finer, itertools.pairwise(prices), strict=True):
        loss, zcdp = refined_charge(Loss(before), Loss(after))
        assert (entry.epsilon, entry.delta, entry.rho, entry.slack) == (loss.epsilon, 0, zcdp.rho, 0)
        assert entry.rho == (before + after) ** 2 / 2
    assert all(curator.replay(entry).agrees for entry in (first, *finer))
    forged = replace(finer[0], rho=finer[0].rho / 2)
    assert not curator.replay(forged).agrees


def test_a_telling_is_charged_before_it_is_told(tmp_path, monkeypatch):
    """With a ledger that breaks at one charge after another, nothing was told that is not on record."""
    for broken in range(1, 6):
        folder = tmp_path / str(broken)
        folder.mkdir()
        curator = counted(folder, 3_000)
        revealed = []
        monkeypatch.setattr(tellings._Chain, "reader", listening(revealed))
        reserve, calls = SqliteLedger.reserve, itertools.count(1)

        def failing(self, *args, reserve=reserve, calls=calls, broken=broken):
            if next(calls) == broken:
                raise LedgerError("the disk is gone")
            return reserve(self, *args)

        monkeypatch.setattr(SqliteLedger, "reserve", failing)
        with pytest.raises(LedgerError):
            curator.ask(FIVE, session=ANA)
        monkeypatch.undo()
        assert len(revealed) == broken - 1
        assert len(charges(curator)) == broken - 1


def listening(revealed):
    original = tellings._Chain.reader

    def reader(self, job, step):
        read = original(self, job, step)

        def heard():
            revealed.append(step.index)
            return read()

        return heard

    return reader


def test_what_is_left_of_a_budget_is_not_spent_on_what_it_cannot_reach(tmp_path):
    """Ten rows at 5% need ε = 6; that this is more than 0.3 is seen long before that is spent, or a pilot's price.

    But for noise that makes ten look like seventy, three times in a hundred.
    """
    curator = counted(tmp_path, 10, analyst=AnalystPolicy("ana", Fraction(3, 10)))
    with pytest.raises(QueryRefused, match="no epsilon that may be spent"):
        curator.ask(FIVE, session=ANA)
    assert 0 < curator.balance("ana").total.spent.epsilon <= Fraction(6, 100)


def test_a_budget_that_ends_in_the_middle_keeps_what_was_told_charged(tmp_path):
    curator = counted(tmp_path, 1_000, analyst=AnalystPolicy("ana", Fraction(1, 50)))
    with pytest.raises(BudgetExceeded):
        curator.ask(FIVE, session=ANA, request_id="r")
    spent = curator.balance("ana").total.spent.epsilon
    assert 0 < spent <= Fraction(1, 50)
    assert spent == sum(entry.epsilon for entry in charges(curator))


def test_no_error_leads_to_tellings_that_nobody_paid_for(tmp_path):
    """Neither by the variables of the steps that it passed through, nor by what it came from."""
    curator = counted(tmp_path, 1_000, analyst=AnalystPolicy("ana", Fraction(1, 50)))
    with pytest.raises(BudgetExceeded) as caught:
        curator.ask(FIVE, session=ANA, request_id="r")
    names = [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert "_told" not in names
    assert "told" in names
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    frames = [step.tb_frame for step in steps(caught.tb)]
    held = [value for frame in frames for value in frame.f_locals.values()]
    assert not any(isinstance(value, Noisy) for value in held)
    gc.collect()
    chains = [each for each in gc.get_objects() if isinstance(each, tellings._Chain)]
    assert not any(chain.is_drawn for chain in chains)  # a ledger remembers its last error, and so the steps to it


def steps(trace):
    """The steps of a traceback within the package: a test's own stand outside."""
    while trace is not None:
        if "tacit" in trace.tb_frame.f_globals["__name__"]:
            yield trace
        trace = trace.tb_next


def test_a_chain_shows_nothing_of_what_it_holds():
    chain = tellings._Chain(list)
    assert repr(chain) == "<tellings>"
    assert not hasattr(chain, "__dict__")


@pytest.mark.parametrize("fresh", ["", "FRESH "])
def test_a_request_that_is_sent_again_is_told_the_same_and_is_free(tmp_path, fresh):
    curator = counted(tmp_path, 3_000)
    text = f"DP-SELECT WITHIN 5% {fresh}COUNT(*) FROM t"
    first = curator.ask(text, session=ANA, request_id="r")
    spent = curator.balance("ana").total.spent
    again = curator.ask(text, session=ANA, request_id="r")
    assert curator.balance("ana").total.spent == spent
    assert (again.rows, again.errors, again.cost) == (first.rows, first.errors, Loss(0))
    assert (first.reused, again.reused) == (None, "the same request" if fresh else "the same question")
    with pytest.raises(RequestConflict):
        curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA, request_id="r")
    assert curator.balance("ana").total.spent == spent


@pytest.mark.parametrize("length", [186, 188, 200])
def test_an_id_that_leaves_no_room_for_the_number_of_a_telling_is_refused_before_the_first(tmp_path, length):
    curator = counted(tmp_path, 3_000)
    with pytest.raises(InvalidParameter, match="too long"):
        curator.ask(FIVE, session=ANA, request_id="r" * length)
    assert not charges(curator)
    assert curator.ask(FIVE, session=ANA, request_id="r" * 185).cost.epsilon > 0  # the hint, followed


def test_a_request_that_broke_off_is_finished_with_noise_of_its_own_at_its_whole_price(tmp_path, monkeypatch):
    """What was told stays told; the finer tellings of the same noise are lost, and may not be drawn again."""
    curator = counted(tmp_path, 3_000)
    reserve, calls = SqliteLedger.reserve, itertools.count(1)

    def failing(self, *args):
        if next(calls) == 6:
            raise LedgerError("the disk is gone")
        return reserve(self, *args)

    monkeypatch.setattr(SqliteLedger, "reserve", failing)
    with pytest.raises(LedgerError):
        curator.ask(FIVE, session=ANA, request_id="r")
    monkeypatch.undo()
    told = len(charges(curator))
    assert told == 5
    before = curator.balance("ana").total.spent.epsilon
    found = curator.ask(FIVE, session=ANA, request_id="r")
    last = charges(curator)[told:]
    assert [entry.kind for entry in last] == ["query"]  # at its whole price: no part of it was paid before
    assert curator.replay(last[0]).agrees
    assert curator.balance("ana").total.spent.epsilon == before + last[0].epsilon == before + found.cost.epsilon
    again = curator.ask(FIVE, session=ANA, request_id="r")
    assert (again.rows, again.cost) == (found.rows, Loss(0))
    with pytest.raises(RequestConflict):
        curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA, request_id="r")


def test_every_output_of_every_group_is_as_accurate_as_wanted(tmp_path):
    """In one group there are 500 rows, in the other 50,000."""
    columns = [ColumnPolicy("g", domain=["a", "b"])]
    policy = policy_of([TablePolicy("t", "row", columns=columns)], analysts=[AnalystPolicy("ana", 10)])
    made = world(policy, "CREATE TABLE t AS SELECT CASE WHEN r < 500 THEN 'a' ELSE 'b' END AS g FROM range(50500) x(r)")
    text = "DP-SELECT WITHIN 5% g, COUNT(*), COUNT(*) - 10 FROM t GROUP BY g"
    found = made.curator(tmp_path, source=Seeded(1)).ask(text, session=ANA)
    for row, errors in zip(found.rows, found.errors, strict=True):
        assert all(error <= 0.05 * value for value, error in zip(row[1:], errors[1:], strict=True))


def test_the_output_with_the_largest_share_of_error_decides(tmp_path):
    """Of 3,000 the error is 5% long before it is of 300."""
    found = counted(tmp_path, 3_000).ask("DP-SELECT WITHIN 5% COUNT(*), COUNT(*) - 2700 FROM t", session=ANA)
    assert all(error <= 0.05 * value for value, error in zip(found.rows[0], found.errors[0], strict=True))


def test_an_answer_says_whether_it_is_as_accurate_as_wanted(tmp_path):
    (tmp_path / "few").mkdir()
    (tmp_path / "many").mkdir()
    few = counted(tmp_path / "few", 1).ask(FIVE, session=ANA)
    many = counted(tmp_path / "many", 3_000).ask(FIVE, session=ANA)
    said = [any("is not reached" in note for note in found.notes) for found in (few, many)]
    assert (said, few.cost.epsilon > 1) == ([True, False], True)


def test_the_last_telling_alone_is_kept(tmp_path):
    curator = counted(tmp_path, 3_000)
    found = curator.ask(FIVE, session=ANA)
    for epsilon in ("0.00001", "0.001", "0.01"):
        kept = curator.ask(f"DP-SELECT {epsilon} COUNT(*) FROM t", session=ANA)
        assert (kept.rows, kept.errors, kept.cost) == (found.rows, found.errors, Loss(0))
    spent = curator.balance("ana")
    again = curator.ask("DP-SELECT WITHIN 10% COUNT(*) FROM t", session=ANA, request_id="k")
    assert (again.rows, again.cost) == (found.rows, Loss(0))
    assert curator.balance("ana") == spent  # in zCDP, too: what stands for the request's id is free
    with pytest.raises(RequestConflict):
        curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA, request_id="k")
    sharper = curator.ask("DP-SELECT WITHIN 1% COUNT(*) FROM t", session=ANA)
    assert sharper.cost.epsilon > found.cost.epsilon


def test_what_was_told_is_shown_again_by_its_entry(tmp_path):
    """As any answer is (`tacit.curator.given`): the last telling, and each before it, which was paid as well."""
    curator = counted(tmp_path, 3_000)
    found = curator.ask(FIVE, session=ANA)
    settled = [entry for entry in reversed(curator.log("ana", limit=1000)) if entry.act == "settle"]
    assert settled[-1].hash == found.receipt.entry
    assert len(settled) > 1
    shown = [curator.given(entry.hash, session=ANA) for entry in settled]
    assert (shown[-1].rows, shown[-1].errors, shown[-1].cost) == (found.rows, found.errors, Loss(0))
    errors = [each.errors[0][0] for each in shown]
    assert errors == sorted(errors, reverse=True)


def test_what_is_refused_in_the_end_is_kept_at_the_price_that_was_paid(tmp_path):
    curator = counted(tmp_path, 20, max_epsilon=Fraction(1, 10))
    with pytest.raises(QueryRefused, match="no epsilon that may be spent") as caught:
        curator.ask("DP-SELECT WITHIN 1% COUNT(*) FROM t", session=ANA)
    spent = curator.balance("ana").total.spent.epsilon
    assert 0 < spent <= Fraction(1, 10)
    price = caught.value.hint.split("ε = ")[1].split(" ")[0]
    assert Fraction(price) == spent
    assert curator.ask(f"DP-SELECT {price} COUNT(*) FROM t", session=ANA).cost == Loss(0)  # the hint, followed


@pytest.mark.parametrize("bound", ["500%", "100000%"])
def test_a_wide_bound_is_not_paid_beyond_what_pilots_would_cost(tmp_path, bound):
    curator = counted(tmp_path, 150)  # of which too little is seen with probability e⁻⁷
    assert curator.ask(f"DP-SELECT WITHIN {bound} COUNT(*) FROM t", session=ANA).cost.epsilon <= Fraction(6, 100)


def test_groups_that_where_rules_out_need_not_be_accurate(tmp_path):
    columns = [ColumnPolicy("g", domain=["a", "b", "c"])]
    policy = policy_of([TablePolicy("t", "row", columns=columns)], analysts=[AnalystPolicy("ana", 10)])
    curator = world(policy, "CREATE TABLE t AS SELECT 'a' AS g FROM range(9000)").curator(tmp_path, source=Seeded(1))
    found = curator.ask("DP-SELECT WITHIN 5% g, COUNT(*) FROM t WHERE g = 'a' GROUP BY g", session=ANA)
    assert len(found.rows) == 1
    assert found.cost.epsilon <= Fraction(1, 50)


PILOTED = {
    "zcdp": ("COUNT(*) FROM t", BudgetPolicy(10, delta="1e-6", accounting="zcdp"), AnalystPolicy("ana", 10)),
    "pld": (
        "COUNT(*) FROM t",
        BudgetPolicy(10, delta="1e-6", accounting="pld", grain="0.05"),
        AnalystPolicy("ana", 10),
    ),
    "a window": ("COUNT(*) FROM t", BudgetPolicy(10), AnalystPolicy("ana", 1, window="1d")),
    "private keys": (
        "DELTA 1e-6 c, COUNT(*) FROM t GROUP BY c",
        BudgetPolicy(10, delta="1e-3"),
        AnalystPolicy("ana", 10),
    ),
    "a delta": ("DELTA 1e-6 COUNT(*) FROM t", BudgetPolicy(10, delta="1e-3"), AnalystPolicy("ana", 10)),
    "sets": ("g, COUNT(*) FROM t GROUP BY ROLLUP (g)", BudgetPolicy(10), AnalystPolicy("ana", 10)),
    "many groups": ("x, COUNT(*) FROM t GROUP BY x", BudgetPolicy(10), AnalystPolicy("ana", 10)),
}


@pytest.mark.parametrize("kind", PILOTED)
def test_where_losses_are_not_simply_added_up_or_are_given_back_pilots_find_the_price(tmp_path, kind):
    text, budget, analyst = PILOTED[kind]
    columns = [
        ColumnPolicy("g", domain=["a", "b"]),
        ColumnPolicy("c", type="text"),
        ColumnPolicy("x", type="integer", domain=list(range(10_001))),
    ]
    policy = policy_of([TablePolicy("t", "row", columns=columns)], budget=budget, analysts=[analyst])
    curator = world(policy, "CREATE TABLE t (g VARCHAR, c VARCHAR, x INTEGER)").curator(tmp_path, source=Seeded(1))
    job = curator.prepare(f"DP-SELECT WITHIN 20% {text}", session=ANA)
    assert job.tellings is None
    assert job.sharper is not None


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
@pytest.mark.parametrize(
    "text", ["COUNT(*) FROM visits", "AVG(amount) FROM visits", "dept, COUNT(*), SUM(age) FROM visits GROUP BY dept"]
)
def test_the_noise_of_each_price_is_that_of_the_question_at_that_price(tmp_path, relation, text):
    """Else a telling would be shown with another error than it has, or paid at another price."""
    curator = clinic(dataset={"adjacency": relation}).curator(tmp_path, source=Seeded(1))
    job = curator.prepare(f"DP-SELECT WITHIN 5% {text}", session=ANA)
    assert job.tellings is not None
    prices = job.tellings.prices
    assert all(before < after for before, after in itertools.pairwise(prices))
    scales = [gradual(m, prices).scales for m in job.pieces[0].plan.measurements]
    for index in (0, 1, len(prices) // 2, len(prices) - 1):
        plan = job.tellings.at(prices[index]).pieces[0].plan
        assert [scale[index] for scale in scales] == [m.noise.law.size for m in plan.measurements]
        assert plan.loss == Loss(prices[index])


def test_the_same_noise_is_told_with_less_and_less_of_it(tmp_path):
    """Every telling is the one after it, or that and further noise."""
    drawn = []
    original = tellings.read_tellings

    def reading(*args, **named):
        drawn.append(original(*args, **named))
        return drawn[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tellings, "read_tellings", reading)
        curator = counted(tmp_path, 4_000, source=Seeded(5))
        found = curator.ask(FIVE, session=ANA)
    (told,) = drawn
    numbers = [int(each.columns[0].numbers[0]) for each in told]
    same = sum(before == after for before, after in itertools.pairwise(numbers))
    assert same > len(numbers) / 2  # nothing is added with probability 1/1.21
    assert found.rows[0][0] in numbers


@pytest.mark.parametrize("share", [1e-9, 0.04, 0.1, 0.13, 1.0, 50.0, float("inf")])
@pytest.mark.parametrize("most", [None, Fraction(1, 3), Fraction(0)])
def test_every_step_leads_to_a_higher_price_that_may_be_paid_or_to_the_end(tmp_path, share, most):
    job = counted(tmp_path, 10).prepare(FIVE, session=ANA)
    for index in range(len(job.tellings.prices)):
        with contextlib.suppress(QueryRefused):
            after = following(job.tellings, TellingStep(index, most), share=share)
            assert after is None or index < after.index < len(job.tellings.prices)
            assert after is None or share > Fraction(1, 20)
            assert after is None or most is None or job.tellings.prices[after.index] <= most


THOUSANDTHS = tuple(Fraction(price, 1000) for price in range(1, 3001))
LOOKS = [  # the bound, the price, the share: the price of the next telling, or the end
    ("0.05", "0.010", 0.0499, None),
    ("0.05", "0.010", 0.051, "0.011"),  # the next one at least
    ("0.05", "0.010", 0.1, "0.018"),  # nine tenths of what a clear answer needs
    ("0.05", "0.002", 1.0, "0.013"),  # 0.002 / 0.05 / (1 + 2)
    ("0.05", "0.010", 1.0, "0.050"),  # at most what a pilot would cost, while it is not clear
    ("0.05", "0.049", 1.0, "0.050"),
    ("0.2", "0.100", 0.4, "0.200"),  # on to where it is enough, if it is as large as it looks
    ("0.2", "0.100", 0.201, "0.101"),  # so close to the line in small steps
    ("0.2", "0.100", 0.199, None),
    ("0.05", "0.100", 0.4, "0.300"),  # at most three times as dear
    ("0.05", "0.050", float("inf"), "0.150"),  # it looks like 0, and noise alone may have made it so
    ("0.05", "0.600", 0.4, "1.350"),  # in all, at most 27 times as dear as a pilot
    ("0.05", "1.349", 0.13, "1.350"),
    ("0.05", "1.350", 0.4, None),
    ("0.05", "1.350", 0.07, "1.701"),  # of an answer that is clear there is no such end
    ("0.05", "0.800", 0.6, "refused"),  # 4.4 at least
    ("0.05", "0.010", 6.0, "0.050"),  # nobody knows yet
    ("0.001", "0.010", 6.0, "refused"),  # 4.6 at least
    ("0.05", "2.900", 0.06, "refused"),  # 3.48
    ("0.05", "2.650", 0.058, "2.766"),  # 3.074 is near enough to be tried
    ("0.05", "3.000", 0.0505, "refused"),  # there is none after the last
    ("0.05", "3.000", 0.4, "refused"),
    ("0.4", "0.050", 0.39, None),  # the first for what a pilot would cost
    ("0.4", "0.050", 0.41, "0.051"),
    ("0.4", "0.100", 0.39, "0.130"),  # beyond it, to three tenths
    ("0.4", "0.100", 0.3, None),
    ("0.5", "0.050", 50.0, None),  # a wide bound is not told on for: noise alone would meet it in the end
    ("0.5", "0.010", 0.31, "0.015"),  # below that, an eighth: 0.01 / 0.125 / (3.2 + 2)
    ("0.5", "0.010", 0.125, None),
]


@pytest.mark.parametrize(("bound", "price", "share", "expected"), LOOKS)
def test_what_is_told_next(bound, price, share, expected):
    told = Tellings(THOUSANDTHS, WithinError(Fraction(bound), relative=True), at=lambda price: None)
    step = TellingStep(THOUSANDTHS.index(Fraction(price)))
    if expected == "refused":
        with pytest.raises(QueryRefused, match="no epsilon that may be spent"):
            following(told, step, share=share)
        return
    after = following(told, step, share=share)
    assert expected == (None if after is None else f"{float(THOUSANDTHS[after.index]):.3f}")


def test_what_is_left_holds_as_the_last_price_does():
    told = Tellings(THOUSANDTHS, WithinError(Fraction(1, 20), relative=True), at=lambda price: None)
    with pytest.raises(QueryRefused):
        following(told, TellingStep(149, Fraction(1, 5)), share=0.1)  # 0.3 is needed
    assert following(told, TellingStep(149, Fraction(1, 5)), share=0.069) == TellingStep(185, Fraction(1, 5))
    assert following(told, TellingStep(149, Fraction(18, 100)), share=0.0625) == TellingStep(167, Fraction(18, 100))


def test_a_finer_telling_is_never_read_anew(tmp_path):
    """It would be paid as what it adds to noise that it does not have."""
    job = counted(tmp_path, 10).prepare(FIVE, session=ANA)
    chain = tellings._Chain(list)
    with pytest.raises(EngineError, match="lost"):
        chain.reader(job, TellingStep(1))()
    assert not chain.is_drawn


def test_an_answer_that_noise_makes_look_like_nothing_is_told_again(tmp_path):
    """Of an average at its lower end the error is no share of it; refused there, two asks of five were paid in vain."""
    curator = clinic(dataset={"budget": BudgetPolicy(10**4)}, unit="row", max_groups=1, max_rows=1).curator(
        tmp_path, source=Seeded(1)
    )
    costs = [curator.ask("DP-SELECT WITHIN 20% FRESH AVG(amount) FROM visits", session=ANA).cost for _ in range(40)]
    assert max(cost.epsilon for cost in costs) <= Fraction(27, 20)  # 27 times what a pilot would
