"""The recipes of CONTRIBUTING, followed to the letter on a copy of the source."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.documents import blocks

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package, to be changed."""
    shutil.copytree(ROOT / "src" / "tacit", tmp_path / "tacit", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "tacit"


def change(file: Path, was: str, now: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(was) == 1, f"{was!r} is not where the recipe puts it"
    file.write_text(text.replace(was, now), encoding="utf-8")


def python(copy: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": str(copy.parent)},
        cwd=copy.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_command_is_added_as_the_recipe_says(copy: Path) -> None:
    recipe = next(block for block in blocks(GUIDE) if "COMMANDS = (Command(" in block.body)
    (copy / "faces" / "cli" / "greeting.py").write_text(recipe.body, encoding="utf-8")
    assert "`FAMILIES`" in GUIDE
    change(copy / "faces/cli/app.py", "\nFAMILIES = (owning, ", "\nFAMILIES = (greeting, owning, ")
    change(copy / "faces/cli/app.py", "asking, calibration, ", "asking, calibration, greeting, ")
    assert python(copy, "-m", "tacit", "greet", "ana") == "hello, ana\n"
    page = python(copy, "-m", "tacit", "greet", "--help")
    assert page.startswith("Usage: tacit greet [OPTIONS]")
    assert "Greet somebody by name." in page
    assert "\n    tacit greet ana\n" in page
    assert "\n  greet " in python(copy, "-m", "tacit", "--help")


POLICY = """\
from tacit.policy import keys_markdown, parse_policy, policy_text
plain = '[dataset]\\nname = "a"\\nsource = "a.duckdb"\\n[budget]\\nepsilon = 1\\n[tables.t]\\nunit = "row"\\n'
policy = parse_policy(plain.replace("[budget]", 'contact = "Ana"\\n[budget]'))
print(policy.dataset.contact, 'contact = "Ana"' in policy_text(policy), "| `contact` |" in keys_markdown())
print(parse_policy(plain).version, parse_policy(plain).version != policy.version)
try:
    parse_policy(plain.replace("[budget]", "contact = 5\\n[budget]"))
except Exception as refused:
    print(refused)
"""


def test_a_key_of_the_policy_is_added_as_the_recipe_says(copy: Path) -> None:
    key, attribute, parameter, held, reader = steps = [
        'PolicyKey("contact", "text", "none", "whom to ask about the data"),',
        "contact: str | None",
        "contact: str | None = None",
        "contact=contact,",
        '"contact": optional(text),',
    ]
    assert all(f"`{step}`" in GUIDE for step in steps)
    before = python(
        copy, "-c", POLICY.splitlines()[0] + "\n" + POLICY.splitlines()[1] + "\nprint(parse_policy(plain).version)"
    )
    change(copy / "policy/keys.py", "\nDATASET = (\n", f"\nDATASET = (\n    {key}\n")
    dataset = copy / "policy/dataset.py"
    change(dataset, "    data_version: str\n", f"    data_version: str\n    {attribute}\n")
    change(dataset, '        data_version: str = "1",\n', f'        data_version: str = "1",\n        {parameter},\n')
    change(
        dataset,
        "            data_version=data_version,\n",
        f"            data_version=data_version,\n            {held}\n",
    )
    change(dataset, '    "data_version": text,\n', f'    "data_version": text,\n    {reader}\n')
    if not re.search(r"from tacit\.policy\.reading import .*\boptional\b", dataset.read_text(encoding="utf-8")):
        change(dataset, "from tacit.policy.reading import ", "from tacit.policy.reading import optional, ")
    said = python(copy, "-c", POLICY).splitlines()
    assert said[0] == "Ana True True"
    assert said[1] == f"{before.strip()} True", "a key left at its default leaves the version as it was"
    assert "contact" in said[2]
    assert "must be text" in said[2]
