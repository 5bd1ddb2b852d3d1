"""The error tree: drawn as it is, safe to print, whole after a journey between processes."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import traceback
from collections.abc import Iterator

import pytest

from tacit import errors
from tacit.errors import BudgetExceeded, InvalidParameter, TacitError


def _tree(kind: type[TacitError]) -> Iterator[type[TacitError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from _tree(child)


KINDS = list(_tree(TacitError))
DRAWN = re.findall(r"^([ │]*)[├└]── (\w+) +(\d+) +(\w{5}) ", errors.__doc__ or "", re.MULTILINE)


def test_the_drawing_names_every_error() -> None:
    assert {name for _, name, _, _ in DRAWN} == {kind.__name__ for kind in KINDS[1:]}


@pytest.mark.parametrize(("indent", "name", "exit_code", "sqlstate"), DRAWN)
def test_the_drawing_is_right_about_each_error(indent: str, name: str, exit_code: str, sqlstate: str) -> None:
    kind = getattr(errors, name)
    parent = TacitError if len(indent) <= 4 else errors.QueryRefused
    assert kind.__bases__[0] is parent
    assert kind.exit_code == int(exit_code)
    assert kind.sqlstate == sqlstate


def test_each_family_has_an_exit_code_of_its_own() -> None:
    codes = [kind.exit_code for kind in TacitError.__subclasses__() if kind.__module__ == errors.__name__]
    assert len(set(codes)) == len(codes)
    assert 0 not in codes


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_explains_itself_in_at_most_two_lines(kind: type[TacitError]) -> None:
    assert kind("it is wrong: why").explain() == "error: it is wrong: why"
    assert kind("it is wrong: why", hint="do this").explain() == "error: it is wrong: why\nhint: do this"
    assert str(kind("it is wrong: why", hint="do this")) == "it is wrong: why"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("travel", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_an_error_survives_a_journey(kind: type[TacitError], travel: object) -> None:
    arrived = travel(kind("a message", hint="a hint"))  # type: ignore[operator]
    assert type(arrived) is kind
    assert (arrived.message, arrived.hint, str(arrived)) == ("a message", "a hint", "a message")


@pytest.mark.parametrize("kind", KINDS)
def test_a_hint_is_named_when_it_is_given(kind: type[TacitError]) -> None:
    assert inspect.signature(kind).parameters["hint"].kind is inspect.Parameter.KEYWORD_ONLY
    assert kind("only a message").hint == ""


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_says_what_it_means(kind: type[TacitError]) -> None:
    assert (kind.__doc__ or "").strip().endswith(".")


def test_a_bad_parameter_is_also_a_value_error() -> None:
    with pytest.raises(ValueError, match="too small"):
        raise InvalidParameter("too small")
    assert not issubclass(BudgetExceeded, ValueError)


def test_a_traceback_shows_the_hint() -> None:
    said = traceback.format_exception_only(errors.QueryRefused("no", hint="ask otherwise"))
    assert said == ["tacit.errors.QueryRefused: no\n", "hint: ask otherwise\n"]
    assert traceback.format_exception_only(errors.QueryRefused("no")) == ["tacit.errors.QueryRefused: no\n"]
    copied = pickle.loads(pickle.dumps(errors.QueryRefused("no", hint="ask otherwise")))
    assert traceback.format_exception_only(copied) == said
