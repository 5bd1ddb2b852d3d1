"""A survey in Python: asked, answered on a device, kept in a file, estimated; the commands do no more than this."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support.sources import Seeded
from tacit import surveys
from tacit.collect import Direct
from tacit.collect.surveys import tally_lines
from tacit.errors import InvalidParameter, PolicyError
from tacit.faces.cli.app import app

ANSWERS = ["left", "right", "none"]


@pytest.fixture
def vote(tmp_path: Path) -> surveys.Survey:
    return surveys.new(tmp_path / "vote.toml", "Whom?", answers=ANSWERS, epsilon=3)


def collected(survey: surveys.Survey, answers: list[str | float], *, seed: int = 1) -> None:
    store = surveys.ReportStore(survey)
    for place, answer in enumerate(answers):
        assert store.add(survey.report(answer, Seeded(seed + place)))
    store.close()


def test_a_survey_is_written_and_read_again(vote: surveys.Survey) -> None:
    assert surveys.load(str(vote.path)) == vote
    assert vote.answers == tuple(ANSWERS)
    assert vote.protocol.loss().epsilon <= 3


def test_two_fair_coins_are_what_is_asked_with_if_nothing_is_said(tmp_path: Path) -> None:
    survey = surveys.new(tmp_path / "doping.toml", "Ever?")
    assert survey.protocol == Direct.two_coin(Fraction(1, 2))
    assert surveys.explain(survey).lie == Fraction(1, 4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"answers": ["one"], "epsilon": 1}, "one answer is no choice"),
        ({"answers": ["a", "b"], "number": "0:1:1", "epsilon": 1}, "not both"),
        ({"answers": ["a", "b", "c"]}, "the price of an answer is missing"),
        ({"answers": ["a", "a", "b"], "epsilon": 1}, "different texts"),
        ({"number": "0:1", "epsilon": 1}, "bounds cannot be read"),
        ({"number": "1:0:1", "epsilon": 1}, "broken.toml"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "nan"}, "epsilon"),
        ({"epsilon": "a lot"}, "epsilon"),
    ],
)
def test_what_is_no_survey_is_refused_and_leaves_no_file(tmp_path: Path, given: dict[str, object], said: str) -> None:
    with pytest.raises((InvalidParameter, PolicyError), match=said):
        surveys.new(tmp_path / "broken.toml", "Whom?", **given)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_left_alone(vote: surveys.Survey) -> None:
    before = vote.path.read_text(encoding="utf-8")
    with pytest.raises(PolicyError, match="not overwritten"):
        surveys.new(vote.path, "Another?")
    assert vote.path.read_text(encoding="utf-8") == before


def test_estimates_are_near_what_was_answered(vote: surveys.Survey) -> None:
    """The interval misses one share in a million: three of them, one run in 300,000."""
    collected(vote, ["left"] * 300 + ["right"] * 200)
    found = surveys.estimate(vote, confidence="0.999999")
    assert (found.reports, found.dropped) == (500, 0)
    for share, truth in zip(found.findings, (0.6, 0.4, 0.0), strict=True):
        assert share.low <= truth <= share.high
        assert share.high - share.low < 0.5


def test_an_answer_that_was_changed_on_its_way_is_noticed(vote: surveys.Survey) -> None:
    """The same interval with the labels turned round: a mean of the wrong people would lie outside."""
    collected(vote, ["left"] * 500)
    found = surveys.estimate(vote, confidence="0.999999")
    assert found.findings[1].high < 0.5 < found.findings[0].low


def test_a_number_is_estimated_by_its_mean(tmp_path: Path) -> None:
    age = surveys.new(tmp_path / "age.toml", "How old?", number="0:100:1", epsilon=5)
    collected(age, [30, 50.0] * 200)
    found = surveys.estimate(age, confidence="0.999999")
    (mean,) = found.findings
    assert found.is_mean
    assert mean.low <= 40 <= mean.high
    assert surveys.explain(age).within is None


@pytest.mark.parametrize("answer", ["Left", "", "left ", 0, 1.5, float("nan")])
def test_an_answer_that_is_none_of_them_is_refused_on_the_device_and_not_repeated(
    vote: surveys.Survey, answer: object
) -> None:
    with pytest.raises(InvalidParameter) as refused:
        vote.report(answer)  # type: ignore[arg-type]
    assert str(answer) not in refused.value.message or not str(answer)


@pytest.mark.parametrize("answer", ["30", float("nan"), float("inf")])
def test_what_is_no_number_is_refused_where_one_is_asked_for(tmp_path: Path, answer: object) -> None:
    age = surveys.new(tmp_path / "age.toml", "How old?", number="0:100:1", epsilon=1)
    with pytest.raises(InvalidParameter, match="asks for a number"):
        age.report(answer)  # type: ignore[arg-type]
    assert len(age.report(10**300)) == len(age.report(-5))  # clamped, as a browser does


def test_reports_that_do_not_fit_are_dropped_and_counted(vote: surveys.Survey, tmp_path: Path) -> None:
    other = surveys.new(tmp_path / "other.toml", "Whom else?", answers=ANSWERS, epsilon=3)
    store = surveys.ReportStore(vote)
    assert store.add(vote.report("left"))
    assert not store.add(other.report("left"))  # the same coins, another question
    assert not store.add(b"")
    store.close()
    counted = tally_lines(vote)
    assert (counted.reports, counted.dropped) == (1, 2)
    assert surveys.estimate(vote).footing == "1 reports, 2 dropped; intervals hold with confidence 0.95"


def test_the_commands_say_what_python_says(vote: surveys.Survey) -> None:
    collected(vote, ANSWERS * 40)
    found = surveys.estimate(vote)
    shown = CliRunner().invoke(app, ["survey", "estimate", str(vote.path), "--format", "json"])
    assert json.loads(shown.stdout) == found.to_dict()
    told = CliRunner().invoke(app, ["survey", "explain", str(vote.path), "--format", "json"])
    assert json.loads(told.stdout)["epsilon"] == float(surveys.explain(vote).epsilon)


def test_reports_are_packed_and_estimated_elsewhere_alike(vote: surveys.Survey, tmp_path: Path) -> None:
    collected(vote, ANSWERS * 20)
    assert surveys.pack(vote, tmp_path / "vote.parquet") > 0
    assert surveys.estimate(vote, tmp_path / "vote.parquet").to_dict() == surveys.estimate(vote).to_dict()


def test_a_device_needs_no_database_to_answer_and_home_none_to_estimate(vote: surveys.Survey) -> None:
    code = (
        "import sys, pathlib; from tacit.collect import surveys;"
        f"survey = surveys.load(pathlib.Path({str(vote.path)!r})); store = surveys.ReportStore(survey);"
        "[store.add(survey.report('left')) for _ in range(20)]; store.close();"
        "found = surveys.findings(survey, surveys.tally_lines(survey), confidence='0.95');"
        "print(found.reports, sorted({'duckdb', 'sqlite3', 'sqlglot', 'psycopg'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "20 []\n"


def test_a_price_that_protects_next_to_nothing_is_warned_of(tmp_path: Path) -> None:
    dear = surveys.new(tmp_path / "dear.toml", "Whom?", answers=ANSWERS, epsilon=9)
    assert "hardly anything is protected" in (surveys.explain(dear).warning or "")
    cheap = surveys.new(tmp_path / "cheap.toml", "Whom?", answers=ANSWERS, epsilon=8)
    assert surveys.explain(cheap).warning is None


@pytest.mark.parametrize("people", [1, 10**12])
def test_more_people_say_it_more_exactly(vote: surveys.Survey, people: int) -> None:
    assert surveys.explain(vote, people=people).within == pytest.approx(
        (surveys.explain(vote, people=1).within or 0) / people**0.5
    )
