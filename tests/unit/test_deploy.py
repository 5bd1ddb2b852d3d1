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
    assert "COPY . ." not in text  # a checkout may hold a ledger beside it


def test_the_container_takes_all_that_the_package_is_built_from() -> None:
    """A build has no more of a checkout than is copied by name."""
    text = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
    copied = {name for line in text.splitlines() if line.startswith("COPY ") for name in line.split()[1:-1]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"pyproject.toml", "constraints.txt", "src", project["readme"], *project["license-files"]} <= copied


def test_the_user_has_one_number_on_the_host_and_in_the_container() -> None:
    """The volume is closed to everybody else, by number."""
    text = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
    assert "--uid 7100 " in text
    assert "useradd --system --uid 7100 " in PAGE


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
