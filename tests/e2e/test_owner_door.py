"""The owner's acts from Python: the same work and the same checks as on the command line."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import tacit
from e2e.cli_clinic import POLICY, build, here
from tacit.faces.cli import calibration, ledger_admin, owning

BY_DEPT = "DP-SELECT 0.5 dept, COUNT(*) AS n FROM visits GROUP BY dept"


def asked(folder: Path) -> Path:
    path = build(folder)
    with tacit.open(path, analyst="ana") as database:
        database.query(BY_DEPT)
    return path


def test_a_draft_is_what_the_command_writes_and_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path).unlink()
    monkeypatch.chdir(tmp_path)
    text = tacit.owner.draft(tmp_path / "visits.parquet", "cities.csv", name="clinic")
    assert not (tmp_path / "tacit.toml").exists()
    assert here("init", "visits.parquet", "cities.csv", "--name", "clinic", cwd=tmp_path).code == 0
    assert (tmp_path / "tacit.toml").read_text(encoding="utf-8") == text
    with pytest.raises(tacit.PolicyError, match="there already"):
        tacit.owner.draft("visits.parquet", output="tacit.toml")
    assert (tmp_path / "tacit.toml").read_text(encoding="utf-8") == text


def test_a_check_finds_what_the_command_finds(tmp_path: Path) -> None:
    path = build(tmp_path)
    checked = tacit.owner.check(path)
    said = here("check", "--format", "json", cwd=tmp_path).json["findings"]
    assert checked.fits
    assert checked.policy is not None
    assert [finding.message for finding in checked.findings] == [finding["message"] for finding in said]
    checked.refuse()


@pytest.mark.parametrize(
    ("was", "now"),
    [('unit = "patient_id"', 'unit = "nobody"'), ("epsilon = 10", "epsilon = -1"), ("[budget]", "[budget")],
)
def test_what_does_not_fit_is_refused_as_the_command_refuses_it(tmp_path: Path, was: str, now: str) -> None:
    path = build(tmp_path)
    path.write_text(POLICY.replace(was, now), encoding="utf-8")
    checked = tacit.owner.check(path)
    assert not checked.fits
    assert "error" in str(checked)
    with pytest.raises(tacit.PolicyError) as caught:
        checked.refuse()
    ran = here("check", cwd=tmp_path)
    assert ran.code == caught.value.exit_code
    assert ran.lines[0] == f"error: {caught.value.message}"


def test_a_missing_policy_is_said_to_be_missing(tmp_path: Path) -> None:
    for act in (tacit.owner.check, tacit.owner.verify, tacit.owner.log, tacit.owner.budget):
        with pytest.raises(tacit.PolicyError, match="no such file"):
            act(tmp_path / "none.toml")


def test_calibration_is_explained_free_measured_once_and_written_on_demand(tmp_path: Path) -> None:
    path = build(tmp_path)
    before = path.read_text(encoding="utf-8")
    plan = tacit.owner.explain_calibration(path, "visits.max_rows", epsilon="0.5")
    assert plan.loss == tacit.Loss("0.5")
    assert tacit.owner.budget(path).total.spent == tacit.Budget(0)
    found = tacit.owner.calibrate(path, "visits.max_rows", epsilon="0.5")
    assert set(found.values) == {"visits.max_rows"}
    assert "max_rows" in found.diff
    assert path.read_text(encoding="utf-8") == before == found.before
    assert tacit.owner.budget(path).total.spent == tacit.Budget("0.5")
    pair = tacit.owner.calibrate(path, "visits.amount", epsilon="0.5", grids={"visits.amount": "0:600:100"}).values
    assert set(pair) == {"visits.amount"}
    assert isinstance(pair["visits.amount"], tuple)
    again = tacit.owner.calibrate(path, "visits.max_rows", epsilon="0.5", write=True)
    assert again.result.reused
    assert again.values == found.values
    assert path.read_text(encoding="utf-8") == found.text != before
    assert tacit.owner.budget(path).total.spent == tacit.Budget(1)


def test_the_ledger_is_read_verified_and_replayed(tmp_path: Path) -> None:
    path = asked(tmp_path)
    policy = tacit.load_policy(path)
    assert [entry.act for entry in tacit.owner.log(policy)] == ["settle", "charge"]
    assert [entry.act for entry in tacit.owner.log(path, analyst="ben")] == []
    assert tacit.owner.verify(policy).sound
    assert tacit.owner.replay(path).agreeing == 1
    assert tacit.owner.budget(path, analyst="ana").total.spent == tacit.Budget("0.5")


def test_true_rows_are_the_owners(tmp_path: Path) -> None:
    columns, rows = tacit.owner.sql(build(tmp_path), "SELECT COUNT(*) AS n FROM visits WHERE dept = ?", ["CS"])
    assert (columns, rows) == (("n",), [(150,)])


@pytest.mark.parametrize(
    "act",
    [
        tacit.owner.check,
        lambda path: tacit.owner.calibrate(path, epsilon=1),
        lambda path: tacit.owner.explain_calibration(path, epsilon=1),
        tacit.owner.replay,
        lambda path: tacit.owner.adopt(path, note="x"),
        lambda path: tacit.owner.accept(path, note="x"),
        lambda path: tacit.owner.sql(path, "SELECT 1"),
    ],
    ids=["check", "calibrate", "explain", "replay", "adopt", "accept", "sql"],
)
def test_the_owners_acts_are_refused_in_an_analysts_environment(act, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TACIT_ANALYST", "ana")
    with pytest.raises(tacit.QueryRefused, match="the owner's"):
        act(build(tmp_path))


def test_the_commands_go_through_the_same_door() -> None:
    """Nothing in the commands of the owner reaches past `tacit.owner`, but for what writes and what has no policy."""
    beyond = set()
    for module in (ledger_admin, calibration, owning):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tacit.faces.owner."):
                beyond |= {f"{node.module}.{alias.name}" for alias in node.names}
    assert beyond == {"tacit.faces.owner.writing.write_over", "tacit.faces.owner.direct.direct"}


def test_every_act_of_the_owner_is_documented_and_public() -> None:
    for name in tacit.owner.__all__:
        assert len(getattr(tacit.owner, name).__doc__ or "") > 40, name
