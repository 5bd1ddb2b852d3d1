"""Fair turns: nobody's queue holds up anybody else, and nothing is lost when the server stops."""

from __future__ import annotations

import threading

import pytest

from tacit.errors import Overloaded
from tacit.faces.server.turns import Turns


@pytest.fixture
def gate():
    made = threading.Event()
    yield made
    made.set()


def test_a_question_of_another_analyst_is_next_however_many_wait(gate):
    turns, order = Turns(1, per_analyst=1, queue=1000), []
    first = turns.submit("ana", lambda: gate.wait(30))
    waiting = [turns.submit("ana", lambda i=i: order.append(("ana", i))) for i in range(200)]
    other = turns.submit("ben", lambda: order.append(("ben", 0)))
    gate.set()
    for future in (first, *waiting, other):
        future.result(30)
    assert order.index(("ben", 0)) <= 1, "one question of ana's at most comes before it"
    assert [i for name, i in order if name == "ana"] == list(range(200)), "each analyst's own are in order"


def test_no_analyst_takes_all_the_threads(gate):
    turns = Turns(4, per_analyst=3, queue=100)
    heavy = [turns.submit("ana", lambda: gate.wait(30)) for _ in range(50)]
    assert turns.submit("ben", lambda: "light").result(30) == "light", "although fifty heavy ones are there"
    while turns.load[0] < 3:  # a thread that was woken may still be on its way
        pass
    assert sum(future.running() for future in heavy) == 3 == turns.load[0]


def test_a_full_queue_is_refused_and_others_are_not(gate):
    turns = Turns(1, per_analyst=1, queue=2)
    running = turns.submit("ana", lambda: gate.wait(30))
    while not running.running():
        pass
    for _ in range(2):
        turns.submit("ana", lambda: None)
    with pytest.raises(Overloaded, match="2 questions of yours are waiting already"):
        turns.submit("ana", lambda: None)
    turns.submit("ben", lambda: None)


def test_a_question_that_nobody_waits_for_any_more_never_runs(gate):
    turns, ran = Turns(1, per_analyst=1, queue=10), []
    first = turns.submit("ana", lambda: gate.wait(30))
    dropped = turns.submit("ana", lambda: ran.append("dropped"))
    last = turns.submit("ana", lambda: ran.append("last"))
    assert dropped.cancel()
    gate.set()
    first.result(30)
    last.result(30)
    assert ran == ["last"]


def test_an_error_goes_to_whoever_asked_and_the_thread_lives_on():
    turns = Turns(1, per_analyst=1, queue=10)

    def fails():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        turns.submit("ana", fails).result(30)
    assert turns.submit("ana", lambda: 1).result(30) == 1


def test_stopping_refuses_what_waits_and_lets_finish_what_runs(gate):
    turns = Turns(1, per_analyst=1, queue=10)
    running = turns.submit("ana", lambda: gate.wait(30))
    while not running.running():
        pass
    waiting = turns.submit("ana", lambda: None)
    assert not turns.stop(0.01), "it still runs"
    with pytest.raises(Overloaded, match="the server is stopping"):
        waiting.result(30)
    with pytest.raises(Overloaded, match="the server is stopping"):
        turns.submit("ana", lambda: None)
    gate.set()
    assert turns.stop(30)
    assert running.result(30) is True


def test_what_is_done_is_forgotten():
    turns = Turns(2, per_analyst=1, queue=10)
    for name in range(100):
        turns.submit(f"analyst {name}", lambda: None).result(30)
    assert turns.stop(30)
    assert turns._lines == {}


def test_nothing_that_may_run_waits_for_a_thread_that_sleeps():
    """Threads are woken one at a time; whoever finishes takes the next. In rounds of two, all of them meet."""
    turns = Turns(6, per_analyst=2, queue=1000)
    together = {name: threading.Barrier(2) for name in "abc"}
    futures = [turns.submit(name, lambda n=name: together[n].wait(30)) for _ in range(200) for name in "abc"]
    for future in futures:
        future.result(60)  # a barrier that only one thread reaches would break
    assert turns.stop(30)
