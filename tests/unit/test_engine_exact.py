"""An exact result: read on purpose, or not at all."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest

from tacit.engines import Exact
from tacit.errors import EngineError


@pytest.fixture
def exact():
    return Exact({"n": np.array([1, 2]), "k": ["canary-1", None]})


def test_it_says_nothing_of_itself(exact):
    assert {repr(exact), str(exact), f"{exact}", f"{exact:>9}", "%s" % exact, f"{exact!r}"} == {"<exact>"}  # noqa: UP031
    assert str([exact]) == "[<exact>]"


@pytest.mark.parametrize("open_it", [iter, list, tuple, len, hash, pickle.dumps, copy.copy, copy.deepcopy, vars, dict])
def test_it_does_not_come_apart_by_accident(exact, open_it):
    with pytest.raises(TypeError):
        open_it(exact)


def test_what_holds_it_does_not_open_it(exact):
    @dataclasses.dataclass
    class Holder:
        held: object

    with pytest.raises(TypeError):
        dataclasses.asdict(Holder(exact))


def test_it_is_read_by_name(exact):
    assert exact.names == ("n", "k")
    assert exact.rows == 2
    assert exact.integers("n").tolist() == exact.keys("n") == [1, 2]
    assert exact.keys("k") == ["canary-1", None]


def test_whole_numbers_of_any_size_are_read_as_pythons_own():
    exact = Exact({"n": np.array([1, 2]), "w": [2**100, -(2**70)]})
    for name, wanted in (("n", [1, 2]), ("w", [2**100, -(2**70)])):
        found = exact.wide(name)
        assert found.dtype == object
        assert found.tolist() == wanted
        assert {type(number) for number in found.tolist()} == {int}
    with pytest.raises(EngineError):
        exact.integers("w")


@pytest.mark.parametrize("cell", [None, 1.0, True, Fraction(1), "1", float("nan")], ids=repr)
def test_what_is_not_a_whole_number_is_no_wide_one(cell):
    with pytest.raises(EngineError) as caught:
        Exact({"n": [1, cell]}).wide("n")
    assert caught.value.message == "the database could not answer"


@pytest.mark.parametrize(
    "read", [lambda exact: exact.integers("k"), lambda exact: exact.wide("k"), lambda exact: exact.keys("gone")]
)
def test_what_is_not_there_fails_in_the_same_words_as_everything(exact, read):
    with pytest.raises(EngineError) as caught:
        read(exact)
    assert caught.value.message == "the database could not answer"


def test_it_does_not_change(exact):
    with pytest.raises(ValueError, match="read-only"):
        exact.integers("n")[0] = 7
    exact.keys("k").clear()
    assert exact.keys("k") == ["canary-1", None]
    with pytest.raises(AttributeError):
        exact.rows = 7
    with pytest.raises(AttributeError):
        del exact.rows


def test_it_equals_only_itself(exact):
    assert exact == exact
    assert exact != Exact({"n": np.array([1, 2]), "k": ["canary-1", None]})


@pytest.mark.parametrize("columns", [{}, {"a": [1], "b": [1, 2]}])
def test_columns_are_of_one_length(columns):
    with pytest.raises(ValueError, match="one length"):
        Exact(columns)
