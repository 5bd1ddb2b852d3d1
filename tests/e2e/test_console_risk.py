"""The curator's page of risk: odds of what was spent and of a question, and the attacks and audits that were kept."""

from __future__ import annotations

import json
from fractions import Fraction
from html import unescape

import pytest

from e2e.cli_clinic import build, here
from support.browsing import person
from support.server import serving
from tacit.attack import RiskReport
from tacit.attack.auditing.certificate import Certificate
from tacit.attack.auditing.queries import QueryAudit
from tacit.attack.results import AttackResult
from tacit.core import Loss
from tacit.errors import InvalidParameter
from tacit.faces.attack.kept import NAME, keep_audit, keep_report, kept_risk
from tacit.faces.owner import ledger_admin
from tacit.faces.server.serving import open_hub

COUNT = "DP-SELECT 0.5 COUNT(*) FROM visits"


@pytest.fixture
def served(tmp_path):
    with serving(open_hub(build(tmp_path, people=40))) as made:
        yield made


@pytest.fixture
def curator(served):
    with person(served, "carla", role="curator") as made:
        yield made


def result(name: str, *, success: float = 0.8) -> AttackResult:
    return AttackResult(
        attack=name,
        against="rows <b>",
        success=success,
        low=0.1,
        high=0.9,
        null=0.1,
        trials=100,
        p_value=0.001,
        ceiling=0.3,
    )


def report(*results: AttackResult) -> RiskReport:
    return RiskReport(900, ("age",), "illness", (), {}, results, (), (), 1.0)


def audited(certified: float) -> QueryAudit:
    found = Certificate(
        epsilon=certified, delta=0, false_alarm=1e-6, draws=1, counted=1, likely=1, rare=0, event="x", claimed=0.5
    )
    return QueryAudit(Loss(Fraction(1, 2)), "one row", (), found, None)


def test_a_question_is_said_as_odds_and_nothing_is_charged(served, curator):
    before = ledger_admin.entries(served.hub.policy, None, limit=50)
    said = unescape(curator.post("/risk", {"sql": COUNT}).text)
    assert "is right at most 62.2% of times" in said
    assert COUNT in said
    assert ledger_admin.entries(served.hub.policy, None, limit=50) == before


def test_a_question_that_is_refused_says_why(curator):
    said = unescape(curator.post("/risk", {"sql": "DP-SELECT 1 SUM(nothing) FROM visits"}).text)
    assert "nothing" in said
    assert "is right at most" not in said


def test_what_was_spent_is_said_as_odds(served, curator):
    assert "Nothing has been charged yet" in curator.get("/risk").text
    with person(served, "ana") as ana:
        assert ana.ask(COUNT).status_code == 200
    assert "62.2%" in curator.get("/risk").text


def test_attacks_and_audits_that_were_kept_are_shown_and_escaped(curator, tmp_path):
    keep_report(tmp_path, report(result("linkage"), result("membership", success=0.05)), table="people<i>.csv")
    keep_audit(tmp_path, audited(0.48), question=COUNT)
    keep_audit(tmp_path, audited(0.7), question="DP-SELECT 0.5 <script>")
    text = curator.get("/risk").text
    assert "people&lt;i&gt;.csv, attacked" in text
    assert "1 of 2 attacks give people away" in text
    assert "gives away more than it costs" in text
    assert "ε = 0.48 of the 0.5" in text
    assert "<script>" not in text.replace("<script src", "")
    assert "rows &lt;b&gt;" in text


def test_the_last_results_replace_those_before(tmp_path):
    keep_report(tmp_path, report(result("linkage")), table="a.csv")
    keep_report(tmp_path, report(), table="b.csv")
    keep_report(tmp_path, report(result("averaging"), result("linkage")), table="a.csv")
    for number in range(25):
        keep_audit(tmp_path, audited(0.1), question=f"q{number}")
    kept = kept_risk(tmp_path)
    assert [(one.table, len(one.results)) for one in kept.reports] == [("a.csv", 2), ("b.csv", 0)]
    assert [one.question for one in kept.audits] == [f"q{number}" for number in range(24, 4, -1)]
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["{", "[]", '{"reports": 3}', '{"audits": [{"question": "x"}]}', '{"reports": ["x"]}'])
def test_a_file_that_is_none_of_ours_is_said_to_be_so_and_the_page_still_opens(curator, tmp_path, text):
    (tmp_path / NAME).write_text(text)
    with pytest.raises(InvalidParameter, match="cannot be read"):
        kept_risk(tmp_path)
    assert f"{NAME} cannot be read" in curator.get("/risk").text


def test_an_audit_is_kept_by_its_command(served, curator, tmp_path):
    ran = here("audit", COUNT, "--draws", "2000", "--keep", cwd=tmp_path)
    assert ran.code == 0
    (kept,) = json.loads((tmp_path / NAME).read_text())["audits"]
    assert kept["question"] == COUNT
    assert "at least ε =" in curator.get("/risk").text
