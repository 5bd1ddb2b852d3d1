"""What every ledger must do. A new ledger joins by one line in LEDGERS."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from support.postgres import server
from tacit.accounting import grains_for
from tacit.core import AnyOf, Budget, Loss
from tacit.errors import BudgetExceeded, InvalidParameter, LedgerError, QueryRefused
from tacit.ledger import (
    Answer,
    BudgetLimits,
    Charge,
    Grains,
    Keep,
    Ledger,
    Replay,
    Reservation,
    Shelf,
    SqliteLedger,
    Zcdp,
)
from tacit.ledger.postgres.ledger import PostgresLedger

DAY = 86_400
CANARY = "canary-Alice-1987"


class Clock:
    """A clock that is set by hand."""

    now = 1_000_000 * DAY + 100.0

    def __call__(self) -> float:
        return self.now


Open = Callable[[Path, Clock], Ledger]
LEDGERS: dict[str, Open] = {
    "sqlite": lambda where, clock: SqliteLedger(where / "ledger.sqlite", create=True, clock=clock),
    "postgres": lambda where, clock: PostgresLedger(
        server().database(), create=True, mark=where / "ledger.mark", clock=clock
    ),
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=LEDGERS)
def ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Ledger]:
    opened = LEDGERS[request.param](tmp_path, clock)
    yield opened
    assert opened.verify().problems == ()
    opened.close()


def charge(epsilon: object = "0.1", **fields: object) -> Charge:
    asked = {
        "dataset": "clinic", "analyst": "ana", "groups": (), "loss": Loss(epsilon), "zcdp": None,
        "plan_hash": "plan", "policy_version": "v1", "kind": "query",
    }  # fmt: skip
    return Charge(**(asked | fields))


def caps(total: object = 1, **fields: object) -> BudgetLimits:
    limit = total if isinstance(total, Budget | Zcdp | Grains | AnyOf) else Budget(total)
    wide = {"total": limit, "analyst": Budget(1000), "window": None, "groups": ()}
    return BudgetLimits(**(wide | fields))


def keep(**fields: object) -> Keep:
    return Keep(**({"key": "k", "family": "f", "data_version": "d1", "audience": None, "facts": "{}"} | fields))


def shelf(**fields: object) -> Shelf:
    wanted = {"dataset": "clinic", "policy_version": "v1", "data_version": "d1", "analyst": "ana"}
    return Shelf(**(wanted | fields))


def reserve(ledger: Ledger, *args: object) -> Reservation:
    made = ledger.reserve(*args)
    assert isinstance(made, Reservation)
    return made


def total_spent(ledger: Ledger, dataset: str = "clinic") -> Fraction:
    return ledger.balance(dataset, caps(), analyst="ana").total.spent.epsilon


# --- exactness


@pytest.mark.parametrize(("part", "times"), [("0.1", 10), ("1/3", 3), ("1e-1", 10), ("1/7", 7)])
def test_as_many_parts_fit_as_make_a_whole_and_not_one_more(ledger: Ledger, part: str, times: int) -> None:
    for _ in range(times):
        ledger.reserve(charge(part), caps(1))
    with pytest.raises(BudgetExceeded, match="0 is left"):
        ledger.reserve(charge(part), caps(1))
    assert total_spent(ledger) == 1


def test_the_last_millionths_fit_exactly(ledger: Ledger) -> None:
    ledger.reserve(charge("0.99999"), caps(1))
    for _ in range(10):
        ledger.reserve(charge("1e-6"), caps(1))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge("1e-6"), caps(1))


def test_a_sliver_of_budget_covers_nothing_larger(ledger: Ledger) -> None:
    ledger.reserve(charge(Fraction(1) - Fraction(1, 10**17)), caps(1))
    with pytest.raises(BudgetExceeded, match="1e-17 is left"):
        ledger.reserve(charge("0.1"), caps(1))


# --- caps


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"total": Budget("0.15")}, "the total budget for 'clinic'"),
        ({"analyst": Budget("0.15")}, "the budget of 'ana'"),
        ({"groups": (("staff", Budget("0.15")), ("other", Budget(9)))}, "the budget of the group 'staff'"),
    ],
)
def test_each_cap_binds_and_the_refusal_names_it(ledger: Ledger, limits: dict[str, object], named: str) -> None:
    limit = replace(caps(9, groups=(("staff", Budget(9)), ("other", Budget(9)))), **limits)
    ask = charge("0.1", groups=("staff", "other"))
    ledger.reserve(ask, limit)
    before = ledger.entries(limit=99)
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve(ask, limit)
    assert named in refused.value.message
    assert "ε = 0.1 was asked, ε = 0.05 is left" in refused.value.message
    assert ledger.entries(limit=99) == before
    assert total_spent(ledger) == Fraction(1, 10)


def test_delta_is_counted_beside_epsilon(ledger: Ledger) -> None:
    limit = caps(Budget(10, "2e-6"), analyst=None)
    for _ in range(2):
        ledger.reserve(charge(loss=Loss(1, "1e-6")), limit)
    with pytest.raises(BudgetExceeded, match=r"ε = 1, δ = 0\.000001 was asked, ε = 8, δ = 0 is left"):
        ledger.reserve(charge(loss=Loss(1, "1e-6")), limit)
    ledger.reserve(charge(1), limit)


def test_colluding_analysts_share_the_total(ledger: Ledger) -> None:
    names = [f"analyst {number}" for number in range(7)]
    answered = 0
    for name in names * 2:
        try:
            ledger.reserve(charge("0.1", analyst=name), caps(1, analyst=Budget("0.2")))
            answered += 1
        except BudgetExceeded:
            pass
    assert answered == 10


def test_analysts_and_groups_have_accounts_of_their_own(ledger: Ledger) -> None:
    limit = caps(10, analyst=Budget(1), groups=(("a", Budget(5)), ("b", Budget(5))))
    ledger.reserve(charge(1, analyst="ana", groups=("a",)), limit)
    ledger.reserve(charge(1, analyst="bob", groups=("a", "b")), limit)
    balance = ledger.balance("clinic", limit, analyst="bob")
    assert balance.total.spent.epsilon == 2
    assert balance.analyst.left == Budget(0)
    assert [(name, line.left) for name, line in balance.groups] == [("a", Budget(3)), ("b", Budget(4))]


def test_a_charge_to_a_group_without_a_cap_is_refused(ledger: Ledger) -> None:
    with pytest.raises(InvalidParameter, match="'staff'"):
        ledger.reserve(charge(groups=("staff",)), caps())
    assert total_spent(ledger) == 0


def test_a_cap_lowered_below_what_is_spent_leaves_nothing(ledger: Ledger) -> None:
    ledger.reserve(charge(1), caps(2))
    assert ledger.balance("clinic", caps("0.5"), analyst="ana").total.left == Budget(0)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge("1e-9"), caps("0.5"))


def test_a_free_disclosure_is_recorded_even_when_nothing_is_left(ledger: Ledger) -> None:
    ledger.reserve(charge(1), caps(1))
    ledger.reserve(charge(0, kind="disclosure", note="table of 2024, 5-anonymous"), caps("0.5"))
    assert ledger.entries(limit=1)[0].note == "table of 2024, 5-anonymous"


# --- zCDP


def test_a_zcdp_budget_adds_rho(ledger: Ledger) -> None:
    limit = caps(Zcdp("0.02", "1e-6"), analyst=None)
    for _ in range(4):
        ledger.reserve(charge(loss=Loss(1, "1e-6"), zcdp=Zcdp("0.005", "1e-7")), limit)
    with pytest.raises(BudgetExceeded, match=r"ρ = 0.005, δ = 1e-7 was asked, ρ = 0, δ = 6e-7 is left"):
        ledger.reserve(charge(loss=Loss(1, "1e-6"), zcdp=Zcdp("0.005", "1e-7")), limit)


def test_a_pure_loss_counts_as_half_its_square(ledger: Ledger) -> None:
    limit = caps(Zcdp("0.02", 0), analyst=None)
    for _ in range(4):
        ledger.reserve(charge("0.1"), limit)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge("0.1"), limit)


def test_the_delta_of_approximate_zcdp_is_capped(ledger: Ledger) -> None:
    limit = caps(Zcdp(1, "1e-6"), analyst=None)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(loss=Loss(1, "1e-5"), zcdp=Zcdp("0.001", "2e-6")), limit)


def test_a_loss_without_a_zcdp_price_cannot_be_paid_in_zcdp_then_or_later(ledger: Ledger) -> None:
    zcdp = caps(Zcdp(100, "1e-3"), analyst=None)
    with pytest.raises(BudgetExceeded, match="zCDP"):
        ledger.reserve(charge(loss=Loss(1, "1e-6")), zcdp)
    ledger.reserve(charge(loss=Loss(1, "1e-6")), caps(Budget(5, "1e-5"), analyst=None))
    with pytest.raises(BudgetExceeded, match="zCDP"):  # the policy may not turn to zCDP and forget the past
        ledger.reserve(charge("0.1"), zcdp)


# --- datasets


def test_one_name_is_one_account_however_it_is_written(ledger: Ledger) -> None:
    for name in ("Clinic", "clinic", "CLINIC"):
        ledger.reserve(charge("0.1", dataset=name), caps())
    ledger.reserve(charge("0.2", dataset="caf\u00e9"), caps())
    ledger.reserve(charge("0.2", dataset="Cafe\u0301"), caps())
    assert total_spent(ledger, "cliNIC") == Fraction(3, 10)
    assert total_spent(ledger, "CAF\u00c9") == Fraction(2, 5)


def test_two_datasets_do_not_share_a_budget(ledger: Ledger) -> None:
    for dataset in ("clinic", "tax office"):
        ledger.reserve(charge(1, dataset=dataset), caps(1))
    assert total_spent(ledger, "tax office") == 1


# --- outcomes


def test_a_failed_question_stays_charged(ledger: Ledger) -> None:
    for _ in range(10):
        ledger.fail(reserve(ledger, charge("0.1"), caps(1)))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge("0.1"), caps(1))


@pytest.mark.parametrize("first", ["settle", "fail"])
@pytest.mark.parametrize("second", ["settle", "fail"])
def test_a_charge_is_concluded_once(ledger: Ledger, first: str, second: str) -> None:
    reservation = reserve(ledger, charge(), caps())
    acts = {"settle": lambda: ledger.settle(reservation, [Answer(b"42")]), "fail": lambda: ledger.fail(reservation)}
    acts[first]()
    with pytest.raises(LedgerError, match="already concluded"):
        acts[second]()


def test_a_reservation_of_another_ledger_is_not_settled(ledger: Ledger) -> None:
    reservation = reserve(ledger, charge(), caps())
    for stranger in (replace(reservation, hash="0" * 64), replace(reservation, seq=999), replace(reservation, seq=0)):
        with pytest.raises(LedgerError, match="not in this ledger"):
            ledger.settle(stranger, [Answer(b"42")])


# --- request ids


def test_a_repeated_request_returns_the_stored_answer_and_charges_once(ledger: Ledger) -> None:
    ask = charge(1, request_id="r1")
    receipt = ledger.settle(reserve(ledger, ask, caps(1)), [Answer(b"about 42")])
    for _ in range(3):  # also when nothing is left
        again = ledger.reserve(ask, caps(1))
        assert isinstance(again, Replay)
        assert (again.answers, again.hash) == ((b"about 42",), receipt)
    assert total_spent(ledger) == 1


@pytest.mark.parametrize("other", [{"plan_hash": "another"}, {"loss": Loss(2)}])
def test_a_request_id_cannot_stand_for_two_questions(ledger: Ledger, other: dict[str, object]) -> None:
    ask = charge(1, request_id="r1")
    ledger.settle(reserve(ledger, ask, caps(9)), [Answer(b"42")])
    with pytest.raises(QueryRefused, match="another question"):
        ledger.reserve(replace(ask, zcdp=None, **other), caps(9))
    assert total_spent(ledger) == 1


@pytest.mark.parametrize("failed", [True, False])
def test_a_request_without_an_answer_is_not_run_again_for_free(ledger: Ledger, failed: bool) -> None:
    ask = charge(1, request_id="r1")
    reservation = reserve(ledger, ask, caps(9))
    if failed:
        ledger.fail(reservation)
    with pytest.raises(QueryRefused, match="has no answer"):
        ledger.reserve(ask, caps(9))


def test_request_ids_of_two_analysts_or_datasets_have_nothing_to_do_with_each_other(ledger: Ledger) -> None:
    ledger.settle(reserve(ledger, charge(1, request_id="r1"), caps(9)), [Answer(b"ana's")])
    assert isinstance(ledger.reserve(charge(1, request_id="r1", analyst="bob"), caps(9)), Reservation)
    assert isinstance(ledger.reserve(charge(1, request_id="r1", dataset="tax"), caps(9)), Reservation)


# --- windows


def test_an_analysts_budget_renews_with_the_window_and_the_total_does_not(ledger: Ledger, clock: Clock) -> None:
    limit = caps("3.5", analyst=Budget(1), window=DAY)
    for _ in range(3):
        ledger.reserve(charge(1), limit)
        with pytest.raises(BudgetExceeded, match="'ana'"):
            ledger.reserve(charge("0.1"), limit)
        clock.now += DAY
        assert ledger.balance("clinic", limit, analyst="ana").analyst.left == Budget(1)
    with pytest.raises(BudgetExceeded, match="total"):
        ledger.reserve(charge(1), limit)


@pytest.mark.parametrize("back", [1, DAY, 365 * DAY])
def test_a_clock_set_back_renews_nothing(ledger: Ledger, clock: Clock, back: int) -> None:
    limit = caps(9, analyst=Budget(1), window=DAY)
    ledger.reserve(charge(1), limit)
    clock.now -= back
    for _ in range(3):
        with pytest.raises(BudgetExceeded):
            ledger.reserve(charge(1), limit)
        clock.now += back // 3
    times = [entry.at for entry in ledger.entries(limit=9)]
    assert times == sorted(times, reverse=True)


def test_an_entry_says_when_it_was_written(ledger: Ledger, clock: Clock) -> None:
    clock.now += 0.25
    ledger.reserve(charge(1), caps(9))
    assert ledger.entries(limit=1)[0].at == clock.now


def test_a_clock_that_goes_to_and_fro_renews_nothing(ledger: Ledger, clock: Clock) -> None:
    limit = caps(99, analyst=Budget(3), window=DAY)
    for days in (-1, 1, 0):
        ledger.settle(reserve(ledger, charge(1), limit), [Answer(b"42")])
        clock.now += days * DAY
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(1), limit)


@pytest.mark.parametrize(("first", "then"), [(3600, DAY), (None, DAY), (DAY, 10 * DAY)])
def test_a_longer_window_counts_what_was_spent_before_it_was_declared(
    ledger: Ledger, clock: Clock, first: int | None, then: int
) -> None:
    clock.now = 10**6 * DAY * 10  # at the start of every window
    short = caps(99, analyst=Budget(9), window=first)
    for _ in range(3):
        ledger.reserve(charge(1), short)
        clock.now += 3600
    with pytest.raises(BudgetExceeded, match="ε = 0 is left"):
        ledger.reserve(charge(1), caps(99, analyst=Budget(3), window=then))
    ledger.reserve(charge(1), caps(99, analyst=Budget(4), window=then))
    assert ledger.balance("clinic", caps(99, window=then), analyst="ana").analyst.spent.epsilon == 4


def test_a_shorter_window_does_not_forget_what_falls_into_it(ledger: Ledger, clock: Clock) -> None:
    clock.now = 10**6 * DAY
    ledger.reserve(charge(1), caps(99, window=DAY))
    clock.now += 2 * 3600
    ledger.reserve(charge(1), caps(99, window=DAY))
    spent = ledger.balance("clinic", caps(99, window=3600), analyst="ana").analyst.spent
    assert spent.epsilon == 1


# --- kept answers


def put(ledger: Ledger, epsilon: object, answer: bytes = b"42", *, kept: Keep | None = None, **fields: object) -> str:
    return ledger.settle(reserve(ledger, charge(epsilon, **fields), caps(99)), [Answer(answer, kept or keep())])


def test_kept_answers_come_with_the_largest_epsilon_first(ledger: Ledger) -> None:
    for epsilon, plan in (("1/3", "0"), ("0.5", "0"), ("2", "0"), ("10", "0"), ("0.5", "1")):
        put(ledger, epsilon, epsilon.encode(), plan_hash=plan * 64)
    found = ledger.kept(shelf(), key="k")
    assert [kept.loss.epsilon for kept in found] == [10, 2, Fraction(1, 2), Fraction(1, 2), Fraction(1, 3)]
    assert found[2].seq > found[3].seq
    assert [ledger.answer(kept) for kept in found[:2]] == [b"10", b"2"]


def test_of_answers_that_serve_alike_the_newest_alone_is_found(ledger: Ledger) -> None:
    for body in (b"first", b"second", b"third"):
        put(ledger, "0.5", body)
    put(ledger, "0.5", b"other facts", kept=keep(facts='{"by": ["dept"]}'))
    found = ledger.kept(shelf(), key="k")
    assert [ledger.answer(kept) for kept in found] == [b"other facts", b"third"]
    assert [ledger.answer(kept) for kept in ledger.kept(shelf(), family="f")] == [b"other facts", b"third"]


def test_answers_are_found_by_key_or_by_family(ledger: Ledger) -> None:
    put(ledger, 1, kept=keep(key="fine", facts='{"by": ["dept", "age"]}'))
    put(ledger, 2, kept=keep(key="coarse"))
    put(ledger, 3, kept=keep(key="other", family="g"))
    assert [kept.keep.key for kept in ledger.kept(shelf(), family="f")] == ["coarse", "fine"]
    assert [kept.keep.facts for kept in ledger.kept(shelf(), key="fine")] == ['{"by": ["dept", "age"]}']
    with pytest.raises(InvalidParameter, match="one of the two"):
        ledger.kept(shelf())


@pytest.mark.parametrize(
    "elsewhere", [{"dataset": "tax"}, {"policy_version": "v2"}, {"data_version": "d2"}, {"analyst": "bob"}]
)
def test_an_answer_is_not_found_from_another_shelf(ledger: Ledger, elsewhere: dict[str, str]) -> None:
    put(ledger, 1, kept=keep(audience="ana"))
    assert len(ledger.kept(shelf(), key="k")) == 1
    assert ledger.kept(shelf(**elsewhere), key="k") == ()
    assert ledger.kept(shelf(**elsewhere), family="f") == ()


def test_an_answer_for_everybody_is_found_by_everybody(ledger: Ledger) -> None:
    put(ledger, 1, b"shared")
    (kept,) = ledger.kept(shelf(analyst="bob"), key="k")
    assert (kept.analyst, ledger.answer(kept)) == ("ana", b"shared")


def test_an_answer_that_was_not_to_be_kept_is_not_found(ledger: Ledger) -> None:
    ledger.settle(reserve(ledger, charge(), caps()), [Answer(b"42")])
    assert ledger.kept(shelf(), key="k") == ()


def test_one_charge_may_pay_for_several_answers_each_found_by_itself(ledger: Ledger) -> None:
    ask = charge(1, request_id="r1")
    answers = [Answer(f"answer {i}".encode(), keep(key=f"k{i}") if i != 1 else None) for i in range(12)]
    receipt = ledger.settle(reserve(ledger, ask, caps(99)), answers)
    for i in (0, 11, 5):
        (kept,) = ledger.kept(shelf(), key=f"k{i}")
        assert (kept.member, kept.hash, ledger.answer(kept)) == (i, receipt, f"answer {i}".encode())
    assert len(ledger.kept(shelf(), family="f")) == 11
    again = ledger.reserve(ask, caps(99))
    assert isinstance(again, Replay)
    assert again.answers == tuple(answer.body for answer in answers)
    assert ledger.verify().problems == ()
    (kept,) = ledger.kept(shelf(), key="k0")
    with pytest.raises(LedgerError, match="not in this ledger"):
        ledger.answer(replace(kept, member=12))


def test_a_charge_is_not_settled_with_nothing(ledger: Ledger) -> None:
    made = reserve(ledger, charge(1), caps(9))
    with pytest.raises(LedgerError, match="settled with an answer"):
        ledger.settle(made, [])
    ledger.settle(made, [Answer(b"42")])


def test_a_kept_answer_of_another_ledger_is_not_served(ledger: Ledger) -> None:
    put(ledger, 1)
    (kept,) = ledger.kept(shelf(), key="k")
    for stranger in (replace(kept, hash="0" * 64), replace(kept, seq=999), replace(kept, member=-1)):
        with pytest.raises(LedgerError, match="not in this ledger"):
            ledger.answer(stranger)


# --- the log


def test_the_log_tells_who_paid_what_and_how_it_ended(ledger: Ledger) -> None:
    receipt = put(ledger, "0.5", plan_hash="p1", groups=())
    ledger.fail(reserve(ledger, charge("0.25", analyst="bob", plan_hash="p2", kind="calibrate"), caps(99)))
    reserve(ledger, charge("0.125", dataset="tax", plan_hash="p3"), caps(99))
    log = ledger.entries(limit=99)
    assert [entry.seq for entry in log] == list(range(len(log)))[::-1]
    charges = [(e.plan_hash, e.epsilon, e.kind, e.outcome) for e in log if e.act == "charge"]
    assert charges == [
        ("p3", Fraction(1, 8), "query", None),
        ("p2", Fraction(1, 4), "calibrate", "fail"),
        ("p1", Fraction(1, 2), "query", "settle"),
    ]
    assert receipt in {entry.hash for entry in log}
    assert {entry.analyst for entry in ledger.entries(limit=99, analyst="bob")} == {"bob"}
    assert {entry.dataset for entry in ledger.entries(limit=99, dataset="Tax")} == {"tax"}
    assert len(ledger.entries(limit=2)) == 2


def test_a_sound_ledger_verifies(ledger: Ledger) -> None:
    put(ledger, 1)
    verdict = ledger.verify()
    assert verdict.sound
    assert verdict.head == ledger.entries(limit=1)[0].hash
    assert verdict.entries == len(ledger.entries(limit=99))


def test_no_error_repeats_what_was_stored(ledger: Ledger) -> None:
    ask = charge(1, request_id="r1")
    reservation = reserve(ledger, ask, caps(1))
    ledger.settle(reservation, [Answer(CANARY.encode(), keep(facts=f'"{CANARY}"'))])
    attempts = [
        lambda: ledger.reserve(replace(ask, plan_hash="other"), caps(1)),
        lambda: ledger.reserve(charge(1), caps(1)),
        lambda: ledger.settle(reservation, [Answer(CANARY.encode())]),
        lambda: ledger.fail(reservation),
    ]
    for attempt in attempts:
        with pytest.raises((QueryRefused, BudgetExceeded, LedgerError)) as refused:
            attempt()
        assert CANARY not in refused.value.explain()


# --- many at once


def test_threads_racing_for_the_last_of_the_budget_get_exactly_what_is_left(ledger: Ledger) -> None:
    barrier, answered = threading.Barrier(16), []

    def client(number: int) -> None:
        barrier.wait()
        for _ in range(5):
            try:
                made = reserve(ledger, charge("0.04", analyst=f"analyst {number}"), caps(1))
                ledger.settle(made, [Answer(b"42")])
                answered.append(made.seq)
            except BudgetExceeded:
                return

    clients = [threading.Thread(target=client, args=(number,)) for number in range(16)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    assert len(answered) == len(set(answered)) == 25
    assert total_spent(ledger) == 1


# --- grains


def test_as_many_grains_are_spent_as_there_are(ledger: Ledger) -> None:
    limit = caps(Grains("0.1", 5))
    for _ in range(5):
        ledger.reserve(charge("0.1"), limit)
    with pytest.raises(BudgetExceeded, match=r"1 grain of ε = 0\.1 was asked, 0 grains of ε = 0\.1 is left"):
        ledger.reserve(charge("0.001"), limit)
    assert ledger.balance("clinic", limit, analyst="ana").total.left == Grains("0.1", 0)


def test_a_larger_question_costs_the_grains_that_dominate_it(ledger: Ledger) -> None:
    price = grains_for(Loss("0.2"), Fraction(1, 10)).count
    assert price > 2
    with pytest.raises(BudgetExceeded, match=f"{price} grains"):
        ledger.reserve(charge("0.2"), caps(Grains("0.1", price - 1)))
    ledger.reserve(charge("0.2"), caps(Grains("0.1", price)))
    assert ledger.balance("clinic", caps(Grains("0.1", 9)), analyst="ana").total.spent.grains == price


def test_the_deltas_of_questions_are_counted_beside_grains(ledger: Ledger) -> None:
    limit = caps(Grains("0.1", 100, "1e-6"), analyst=None)
    for _ in range(2):
        ledger.reserve(charge(loss=Loss("0.1", "5e-7")), limit)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(loss=Loss("0.1", "1e-12")), limit)
    ledger.reserve(charge("0.1"), limit)


def test_of_alternatives_one_must_cover_a_charge_and_all_are_charged(ledger: Ledger) -> None:
    limit = caps(AnyOf((Grains("0.1", 4), Zcdp("0.02"), Budget(1))), analyst=None)
    ledger.reserve(charge("0.5"), limit)  # by plain sums alone
    spent = ledger.balance("clinic", limit, analyst="ana").total.spent
    assert (spent.epsilon, spent.grains > 4) == (Fraction(1, 2), True)
    with pytest.raises(BudgetExceeded, match=r"ε = 0\.6 was asked, ε = 0\.5 is left"):
        ledger.reserve(charge("0.6"), limit)  # what the others were exceeded by does not come back
    ledger.reserve(charge("0.5"), limit)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge("0.001"), limit)


def test_alternatives_reach_further_than_the_best_of_them_alone(ledger: Ledger) -> None:
    few = AnyOf((Grains("0.1", 3), Budget("0.2")))
    for _ in range(3):
        ledger.reserve(charge("0.1"), caps(few, analyst=None))
    with pytest.raises(BudgetExceeded, match="0 grains"):
        ledger.reserve(charge("0.1"), caps(few, analyst=None))


def test_what_was_charged_before_anyone_counted_grains_counts(ledger: Ledger) -> None:
    for _ in range(3):
        ledger.reserve(charge("0.1"), caps(1))
    assert ledger.balance("clinic", caps(Grains("0.1", 9)), analyst="ana").total.left == Grains("0.1", 6)
    finer = grains_for(Loss("0.1"), Fraction(1, 20)).count
    assert ledger.balance("clinic", caps(Grains("0.05", 99)), analyst="ana").total.spent.grains == 3 * finer


def test_grains_are_counted_for_every_account_apart(ledger: Ledger) -> None:
    staff = (("staff", Grains("0.1", 2)),)
    ledger.reserve(charge("0.1", analyst="bob", groups=("staff",)), caps(Grains("0.1", 9), groups=staff))
    limit = caps(Grains("0.1", 9), analyst=Grains("0.1", 2), groups=staff)
    ledger.reserve(charge("0.1", groups=("staff",)), limit)
    with pytest.raises(BudgetExceeded, match="the group 'staff'"):
        ledger.reserve(charge("0.1", groups=("staff",)), limit)
    ledger.reserve(charge("0.1"), limit)
    with pytest.raises(BudgetExceeded, match="budget of 'ana'"):
        ledger.reserve(charge("0.1"), limit)
    other = ledger.balance("elsewhere", limit, analyst="ana")
    assert (other.total.spent.grains, other.analyst.spent.grains) == (0, 0)


def test_an_analysts_grains_renew_with_the_window_and_the_total_s_do_not(ledger: Ledger, clock: Clock) -> None:
    limit = caps(Grains("0.1", 5), analyst=Grains("0.1", 2), window=DAY)
    for _ in range(2):
        ledger.reserve(charge("0.1"), limit)
        ledger.reserve(charge("0.1"), limit)
        with pytest.raises(BudgetExceeded, match="budget of 'ana'"):
            ledger.reserve(charge("0.1"), limit)
        clock.now += DAY
    ledger.reserve(charge("0.1"), limit)
    with pytest.raises(BudgetExceeded, match="total budget"):
        ledger.reserve(charge("0.1"), limit)


def test_what_is_only_put_on_record_costs_no_grain(ledger: Ledger) -> None:
    limit = caps(Grains("0.1", 0))
    ledger.reserve(charge(0, kind="disclosure"), limit)
    assert ledger.balance("clinic", limit, analyst="ana").total.spent.grains == 0


def test_threads_that_charge_at_once_spend_every_grain_once(ledger: Ledger) -> None:
    limit, refused, taken = caps(Grains("0.1", 20)), [], []

    def spend() -> None:
        for _ in range(8):
            try:
                taken.append(ledger.reserve(charge("0.1"), limit))
            except BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), len(refused)) == (20, 12)


def test_the_states_that_answers_are_kept_of_come_newest_first(ledger: Ledger, clock: Clock) -> None:
    for version in ("2", "1", "3", "1"):
        put(ledger, 1, kept=keep(data_version=version))
        clock.now += 60
    states = ledger.states("clinic")
    assert [(state.data_version, state.count) for state in states] == [("1", 2), ("3", 1), ("2", 1)]
    assert [clock.now - state.newest for state in states] == [60, 120, 240]
    (only,) = ledger.kept(shelf(data_version="2"), key=keep().key)
    assert clock.now - only.at == 240
