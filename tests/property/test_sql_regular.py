"""Regular expressions: what we write is what was read, by two ways and by Python's own, and no pattern is too large."""

from __future__ import annotations

import re
from functools import cache

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.names.printing import text_of
from tacit.sql.expressions.text import matching, regular
from tacit.sql.expressions.text.places import places

TEXTS = st.text(alphabet="abAB01-._ \n\tjJéßk\u212a%'\\", max_size=6)
ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "A",
        "0",
        "[ab]",
        "[^a]",
        "[0-9]",
        ".",
        r"\d",
        r"\.",
        r"\w",
        "-",
        "é",
        "[a-c0-1]",
        "(a|b)",
        "(?:ab|0)",
        "[[:digit:]x]",
    ]
)
REPEATED = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,1}", "{1,}"])
PARTS = st.lists(st.tuples(ATOMS, REPEATED).map("".join), min_size=0, max_size=4).map("".join)
PATTERNS = st.tuples(
    st.sampled_from(["", "^", "^", "(?i)", "(?i)^"]), PARTS, st.sampled_from(["", "", "$", "|b", "|^a$"])
).map("".join)


@cache
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def by_engine(condition: exp.Expression, text: str) -> bool:
    sql = f"SELECT {text_of(condition)} FROM (SELECT ? AS s)"
    return bool(connection().execute(sql, [text]).fetchall()[0][0])


def column() -> exp.Expression:
    return exp.column("s")


def automaton(pattern: regular.Pattern) -> exp.Expression:
    return exp.Anonymous(
        this=matching.AUTOMATON, expressions=[column(), exp.Literal.string(regular.written(pattern.node))]
    )


def pythons(pattern: str, text: str) -> bool:
    """Python's own reading, in which $ is the very end and case is that of single letters."""
    blind = pattern.startswith("(?i)")
    body = pattern.removeprefix("(?i)").replace("$", r"\Z").replace("[[:digit:]x]", "[0-9x]")
    return re.search(body, text, re.ASCII | (re.IGNORECASE if blind else 0)) is not None


@settings(max_examples=300, deadline=None)
@given(pattern=PATTERNS, text=TEXTS)
def test_a_pattern_matches_as_it_does_in_python(pattern, text):
    try:
        made = regular.read(pattern)
    except QueryRefused:
        with pytest.raises(re.error):
            re.compile(pattern)
        return
    if pattern.startswith("(?i)") and not text.isascii():
        return  # which letters are one another's capitals is the one thing that Python sees differently
    assert by_engine(automaton(made), text) == pythons(pattern, text)


@settings(max_examples=300, deadline=None)
@given(pattern=PATTERNS, text=TEXTS)
def test_fixed_places_match_as_the_automaton_does(pattern, text):
    try:
        made = regular.read(pattern)
    except QueryRefused:
        return
    assert by_engine(matching.matched(column(), made), text) == by_engine(automaton(made), text)


SIMILAR = st.lists(st.sampled_from(["%", "_", "a", "b", ".", "(a|b)", "[0-9]", "a+", "%b", "0{2}"]), max_size=4).map(
    "".join
)


@settings(max_examples=200, deadline=None)
@given(pattern=SIMILAR, text=TEXTS)
def test_similar_to_holds_for_the_whole_text(pattern, text):
    body = pattern.replace(".", r"\.").replace("%", "[\\s\\S]*").replace("_", "[\\s\\S]")
    expected = re.fullmatch(body, text) is not None
    made = regular.read_similar(pattern)
    assert by_engine(matching.matched(column(), made), text) == expected
    assert by_engine(automaton(made), text) == expected


@pytest.mark.parametrize(
    "pattern", ["^J4[0-7]", "^(I2[0-5]|J45)", r"^[A-Z]\d{2}", "asthma", "^C34$", r"\.9$", "^J.*", r"^J\d+"]
)
def test_what_stands_at_fixed_places_needs_no_automaton(pattern):
    assert places(regular.read(pattern)) is not None


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "not closed"),
        (")", "was not opened"),
        ("[a", "bracket is not closed"),
        ("*a", "nothing to repeat"),
        ("a**", "a repetition is repeated"),
        ("^*", "no character"),
        (r"(a)\1", "is not known"),
        ("(?=a)", "(?"),
        ("(?<n>a)", "(?"),
        (r"\bword", "is not known"),
        (r"\p{L}", "is not known"),
        ("[b-a]", "ends before it begins"),
        ("[[:foo:]]", "not known"),
        ("a{101}", "above 100"),
        ("a{3,2}", "m above n"),
        ("((a{100}){100})", "too large"),
        ("((a{0,100}){0,11})", "more than 1,000 times"),
        ("((a{7,}){12,}b){12}", "more than 1,000 times"),
        ("([" + "".join(map(chr, range(0x10000, 0x2F000, 700))) + "]{100}){10}", "too large"),
        ("(" * 30 + "a" + ")" * 30, "nested too deeply"),
        ("a" * 501, "too large"),
        ("a{999999999999}", "above 100"),
    ],
)
def test_a_pattern_that_is_not_ours_is_refused(pattern, why):
    with pytest.raises(QueryRefused, match=re.escape(why)):
        regular.read(pattern)


FAR_LETTERS = "".join(chr(0x10000 + 200 * place) for place in range(80))  # each with bytes of its own


@pytest.mark.parametrize(
    ("largest", "text"),
    [
        ("(" + "|".join(["[^x]{100}"] * 19) + ")$", "y" * 100),
        ("(y{0,100}){0,10}$", "y"),
        ("((y{10}){10}){10}", "y" * 1000),
        (f"([{FAR_LETTERS}]{{60}}){{10}}|y", "y"),
    ],
)
def test_the_largest_patterns_are_ones_that_the_engine_takes(largest, text):
    assert by_engine(automaton(regular.read(largest)), text) is True


def test_a_letter_that_is_forgotten_is_noticed(monkeypatch):
    monkeypatch.setattr(regular, "_code", chr)  # so that what was escaped is a sign again
    made = regular.read(r"[\^a]")
    assert by_engine(automaton(made), "b") != pythons(r"[\^a]", "b")
