"""The files of a deployment say what the page about it says."""

from __future__ import annotations

import configparser
import tomllib
from pathlib import Path

import typer

from support.documents import blocks
from tacit.faces.cli.app import app
from tacit.policy import ServerPolicy

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/deploy.md").read_text(encoding="utf-8")


def test_the_pages_server_section_is_one() -> None:
    (section,) = (tomllib.loads(block.body)["server"] for block in blocks(PAGE) if block.label == "toml")
    assert ServerPolicy(**section).slot_ms == 2000


def test_the_unit_runs_as_a_user_of_its_own_and_is_given_time_to_drain() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(ROOT / "deploy/tacit.service")
    service = unit["Service"]
    assert service["User"] == "tacit"
    assert service["UMask"] == "0077"
    assert service["KillSignal"] == "SIGTERM"
    assert int(service["TimeoutStopSec"]) > ServerPolicy().drain.total_seconds()
    assert service["LimitCORE"] == "0"
    assert " serve " in service["ExecStart"]


def test_the_container_holds_no_data_and_is_not_root() -> None:
    text = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
    assert text.index("USER tacit") < text.index("ENTRYPOINT")
    assert "VOLUME /srv/tacit" in text
    assert '"serve"' in text


def test_every_command_of_the_page_is_one() -> None:
    known = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    named = {
        words[words.index("/opt/tacit/bin/tacit") + 1]
        for block in blocks(PAGE)
        if block.label == "sh"
        for words in (line.split() for line in block.body.splitlines())
        if "/opt/tacit/bin/tacit" in words
    }
    assert named >= {"analyst", "check", "ledger"}
    assert named <= known
