"""Keys that are asked for without a number: which there are, where the rows alone say so; a word where they do not."""

from __future__ import annotations

import pytest

from conformance.sql_trades import trade
from tacit.curator import Session

ANA = Session("ana")
PUBLIC = "lists every public value"


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    return trade("registry").curator(tmp_path_factory.mktemp("registry"))


@pytest.mark.parametrize(
    "text",
    [
        "DISTINCT ward FROM admissions",
        "ward FROM admissions GROUP BY ward",
        "DISTINCT ward FROM admissions WHERE cost > 49999",
        "DISTINCT sex, canton FROM patients",
    ],
)
def test_that_listed_values_are_shown_whatever_the_rows_are_is_said(registry, text):
    asked = f"DP-SELECT 1 {text}"
    told = registry.ask(asked, session=ANA)
    assert any(PUBLIC in note for note in told.notes)
    assert PUBLIC in str(registry.explain(asked, session=ANA))  # before it is paid for


@pytest.mark.parametrize(
    "text", ["DELTA 1e-6 DISTINCT icd FROM admissions", "DELTA 1e-6 ward, icd FROM admissions GROUP BY 1, 2"]
)
def test_of_keys_that_are_in_the_rows_alone_it_is_not(registry, text):
    told = registry.ask(f"DP-SELECT 50 {text}", session=ANA)
    assert len(told) > 0
    assert not any(PUBLIC in note for note in told.notes)
