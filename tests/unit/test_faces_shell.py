"""The shell's parts: statements out of lines, and completion out of the public schema."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from tacit.faces.catalogue import Catalogue, CatalogueColumn, CatalogueTable
from tacit.faces.completions import KEYWORDS
from tacit.faces.shell.completion import completer
from tacit.faces.shell.reading import is_complete, statements


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a;\nb;", ["a;", "b;"]),
        ("a\nb;\n", ["a\nb;"]),
        ("a\n\nb", ["a", "b"]),
        ("\\d\n\\q", ["\\d", "\\q"]),
        ("-- nothing\n\n  \n", []),
        ("-- first\na -- then\n;", ["a -- then\n;"]),
        ("a\n-- inside\nb;", ["a\n-- inside\nb;"]),
        ("", []),
    ],
)
def test_statements_end_with_a_semicolon_an_empty_line_or_the_input(text: str, found: list[str]) -> None:
    assert list(statements(line + "\n" for line in text.split("\n"))) == found


def test_a_question_without_an_end_goes_on() -> None:
    assert not is_complete("DP-SELECT 1 COUNT(*)")
    assert is_complete("DP-SELECT 1 COUNT(*) FROM t;")
    assert is_complete("\\d")
    assert is_complete("DP-SELECT 1 COUNT(*) FROM t\n")


CATALOGUE = Catalogue(
    "clinic",
    (
        CatalogueTable(
            "visits", "one who", "", (CatalogueColumn("amount", "number", ""), CatalogueColumn("dept", "text", ""))
        ),
        CatalogueTable(
            "doses", "one who", "", (CatalogueColumn("drug", "text", ""), CatalogueColumn("amount", "number", ""))
        ),
    ),
)


def completed(text: str) -> list[str]:
    found = completer(CATALOGUE).get_completions(Document(text), CompleteEvent())
    return [completion.text for completion in found]


def test_words_are_completed_from_tables_columns_and_the_language() -> None:
    assert completed("DP-SELECT 1 COUNT(*) FROM vi") == ["visits"]
    assert completed("DP-SELECT 1 SUM(am") == ["amount"]
    assert "dept" in completed("SELECT d")
    assert "DP-SELECT" in completed("dp")
    assert completed("SELECT ") == []
    assert completed("SELECT dept") == [], "a whole word needs no completion"
    assert "\\budget" in completed("\\b")


def test_columns_of_the_table_that_is_asked_come_first() -> None:
    first = completer(CATALOGUE).get_completions(
        Document("SELECT d FROM doses", cursor_position=len("SELECT d")), CompleteEvent()
    )
    assert [completion.text for completion in first][:2] == ["doses", "drug"]


def test_nothing_is_completed_that_is_not_public() -> None:
    public = {"visits", "doses", "amount", "dept", "drug", *KEYWORDS}
    letters = "abcdefghijklmnopqrstuvwxyz"
    assert {text for letter in letters for text in completed(letter)} <= public
