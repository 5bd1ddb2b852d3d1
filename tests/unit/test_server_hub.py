"""The hub: one curator for all doors, slots, a policy that changes under it, and an end without loss."""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext, suppress

import pytest

from e2e.cli_clinic import build
from tacit.errors import BudgetExceeded, EngineError, Overloaded, PolicyError, QueryRefused
from tacit.faces.server import serving
from tacit.faces.server.serving import Hub, open_hub

COUNT = "DP-SELECT 0.5 COUNT(*) FROM visits"


@pytest.fixture
def clinic(tmp_path):
    return build(tmp_path, people=20)


@pytest.fixture
def hub(clinic):
    made = open_hub(clinic)
    yield made
    made.close()


def asked(hub: Hub, sql: str = COUNT, analyst: str = "ana", **more):
    return asyncio.run(hub.ask(hub.session(analyst), sql, **more))


def test_it_answers_explains_and_tells_the_balance(hub):
    release = asked(hub)
    assert len(release.rows) == 1
    assert asyncio.run(hub.explain(hub.session("ana"), COUNT))
    status = hub.balance("ana")
    assert str(status.left.epsilon) == "7/2"
    assert [entry.act for entry in hub.log("ana")] == ["settle", "charge"]
    assert hub.log("ben") == ()
    assert hub.counts.answered == 2


def test_the_same_request_is_charged_once(hub):
    sql = "DP-SELECT 0.5 FRESH COUNT(*) FROM visits"
    first, again = asked(hub, sql, request_id="r1"), asked(hub, sql, request_id="r1")
    assert first.rows == again.rows
    assert again.reused == "the same request"
    assert hub.balance("ana").left.epsilon == 3.5
    with pytest.raises(QueryRefused, match="stands for another question"):
        asked(hub, "DP-SELECT 0.25 FRESH COUNT(*) FROM visits", request_id="r1")


def test_many_at_once_never_overspend(hub):
    async def rush():
        session = hub.session("ben")  # who may spend 1, with a group
        sql = "DP-SELECT 0.1 FRESH COUNT(*) FROM visits"
        return await asyncio.gather(*(hub.ask(session, sql) for _ in range(30)), return_exceptions=True)

    results = asyncio.run(rush())
    refused = [result for result in results if isinstance(result, BudgetExceeded)]
    assert len(results) - len(refused) == 10
    assert hub.balance("ben").left.epsilon == 0


def test_an_unknown_analyst_is_refused_in_one_line(hub):
    with pytest.raises(PolicyError, match="no analyst 'eve'"):
        hub.session("eve")


def test_an_answer_is_shown_again_by_its_entry_to_its_analyst_alone(hub):
    release = asked(hub, "DP-SELECT 0.5 COUNT(*) AS n, AVG(age) AS age FROM visits GROUP BY dept")
    again = asyncio.run(hub.replay(hub.session("ana"), release.receipt.entry))
    assert (again.rows, again.errors, again.columns) == (release.rows, release.errors, release.columns)
    assert again.receipt == release.receipt
    assert hub.balance("ana").left.epsilon == 3.5
    assert asyncio.run(hub.replay(hub.session("ben"), release.receipt.entry)) is None
    assert asyncio.run(hub.replay(hub.session("ana"), "0" * 64)) is None
    charge = hub.log("ana")[1].hash
    assert asyncio.run(hub.replay(hub.session("ana"), charge)) is None, "a charge is not an answer"


@pytest.mark.parametrize("grouping", ["GROUP BY ROLLUP(dept)", "GROUP BY city"])
def test_every_kind_of_answer_is_shown_again(hub, grouping):
    sql = f"DP-SELECT 2 DELTA 1e-7 COUNT(*) AS n FROM visits {grouping}"
    release = asked(hub, sql)
    again = asyncio.run(hub.replay(hub.session("ana"), release.receipt.entry))
    assert (again.rows, again.errors) == (release.rows, release.errors)


def test_a_batch_is_shown_again(hub):
    questions = ["SELECT COUNT(*) FROM visits", ("SELECT COUNT(*) FROM visits WHERE age > ?", [30])]
    batch = asyncio.run(hub.batch(hub.session("ana"), questions, epsilon="0.5"))
    again = asyncio.run(hub.replay(hub.session("ana"), batch.receipt.entry))
    assert [one.rows for one in again.answers] == [one.rows for one in batch.answers]


def test_answers_refusals_and_errors_leave_at_slot_boundaries_alone(clinic, monkeypatch):
    clinic.write_text(clinic.read_text() + "[server]\nslot_ms = 200\n")
    hub = open_hub(clinic)
    clock = [0.0]
    looks = []

    async def sleep(seconds):
        """A machine that wakes too early, and takes a fifth of a millisecond to look at the clock again."""
        looks.append(seconds)
        clock[0] += max(seconds, 0.0002)

    monkeypatch.setattr(serving.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(serving.asyncio, "sleep", sleep)

    def takes(seconds, outcome):
        async def turn(session, act):
            clock[0] = seconds
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        return turn

    kinds = ["an answer", EngineError("x"), QueryRefused("x"), BudgetExceeded("x")]
    for seconds, leaves in ((0.001, 200), (0.199, 200), (0.2005, 400), (0.75, 800)):
        for outcome in kinds:
            clock[0], looks[:] = 0.0, []
            monkeypatch.setattr(hub, "_turn", takes(seconds, outcome))
            with nullcontext() if isinstance(outcome, str) else pytest.raises(type(outcome)):
                assert asyncio.run(hub.ask(hub.session("ana"), COUNT)) == outcome
            assert leaves <= clock[0] * 1000 < leaves + 0.21
            assert looks[1:]
            assert not any(looks[1:])  # awake before the slot ends, however long it slept
    monkeypatch.undo()
    hub.close()


def test_a_real_answer_and_a_real_refusal_wait_for_the_slot(clinic):
    clinic.write_text(clinic.read_text() + "[server]\nslot_ms = 300\n")
    hub = open_hub(clinic)
    for sql in (COUNT, "DP-SELECT 100 COUNT(*) FROM visits"):
        start = time.monotonic()
        with suppress(BudgetExceeded):
            asked(hub, sql)
        assert time.monotonic() - start >= 0.299, "never earlier; how much later depends on the machine"
    hub.close()


def test_a_policy_that_changed_is_taken_up_whole(hub, clinic):
    before = hub.policy.version
    asked(hub)
    clinic.write_text(clinic.read_text().replace("[analysts.ana]\nepsilon = 4", "[analysts.ana]\nepsilon = 1"))
    with pytest.raises(BudgetExceeded):
        asked(hub, "DP-SELECT 0.75 FRESH COUNT(*) FROM visits")
    assert hub.policy.version != before
    assert hub.balance("ana").left.epsilon == 0.5
    asked(hub, "DP-SELECT 0.5 FRESH COUNT(*) FROM visits")
    assert hub.balance("ana").left.epsilon == 0


@pytest.mark.parametrize("broken", ["[budget", "", None, "[dataset]\nname = 'clinic'\n"])
def test_a_policy_that_cannot_be_opened_stops_all_questions_until_it_can(hub, clinic, broken):
    text = clinic.read_text()
    if broken is None:
        clinic.unlink()
    else:
        clinic.write_text(broken)
    for _ in range(2):
        with pytest.raises(PolicyError, match="the policy changed and cannot be opened: no question is answered"):
            asked(hub)
    with pytest.raises(PolicyError, match="the policy changed"):
        hub.balance("ana")
    clinic.write_text(text)
    assert asked(hub).rows
    assert hub.balance("ana").left.epsilon == 3.5


def test_an_analyst_that_is_struck_off_is_refused_with_the_session_they_have(hub, clinic):
    session = hub.session("ben")
    clinic.write_text(clinic.read_text().replace("[analysts.ben]", "[analysts.bea]"))
    with pytest.raises(PolicyError, match="no analyst 'ben'"):
        asyncio.run(hub.ask(session, COUNT))


def test_a_question_that_runs_while_the_policy_changes_ends_under_the_one_it_began_with(hub, clinic):
    with hub._using() as house:
        clinic.write_text(clinic.read_text() + "\n# another time\n")
        hub.check_policy()
        assert hub._house is not house
        assert house.curator.ask(COUNT, session=hub.session("ana")).rows, "its engine is still open"
    with pytest.raises(Exception, match=r"closed|could not answer"):
        house.curator.ask("DP-SELECT 0.1 FRESH COUNT(*) FROM visits", session=hub.session("ana"))


def test_a_hub_that_is_closed_refuses(clinic):
    hub = open_hub(clinic)
    assert hub.close()
    with pytest.raises(Overloaded, match="the server is stopping"):
        asked(hub)
    assert hub.close(), "twice is no error"
