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
    change(copy / "faces/cli/app.py", "\nFAMILIES = (\n    *(owning, ", "\nFAMILIES = (\n    *(greeting, owning, ")
    imported = "from tacit.faces.cli.registering import "
    change(copy / "faces/cli/app.py", imported, f"from tacit.faces.cli import greeting\n{imported}")
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
    dataset = copy / "policy/sources/dataset.py"
    change(dataset, "    data_version: str\n", f"    data_version: str\n    {attribute}\n")
    change(dataset, '        data_version: str = "1",\n', f'        data_version: str = "1",\n        {parameter},\n')
    change(
        dataset,
        "            data_version=data_version,\n",
        f"            data_version=data_version,\n            {held}\n",
    )
    change(dataset, '    "data_version": text,\n', f'    "data_version": text,\n    {reader}\n')
    if not re.search(
        r"from tacit\.policy\.reading\.readers import .*\boptional\b", dataset.read_text(encoding="utf-8")
    ):
        readers = "from tacit.policy.reading.readers import "
        change(dataset, readers, f"{readers}optional, ")
    said = python(copy, "-c", POLICY).splitlines()
    assert said[0] == "Ana True True"
    assert said[1] == f"{before.strip()} True", "a key left at its default leaves the version as it was"
    assert "contact" in said[2]
    assert "must be text" in said[2]


def recipe(holding: str) -> str:
    """The one block of the guide that holds a text."""
    (found,) = [block.body for block in blocks(GUIDE) if holding in block.body]
    return found


@pytest.fixture
def tree(copy: Path) -> Path:
    """The package with the suites that a new thing joins."""
    tests = copy.parent / "tests"
    for folder in ("conformance", "support"):
        shutil.copytree(ROOT / "tests" / folder, tests / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("tests/conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / file, copy.parent / file)
    return copy.parent


def suite(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A part of the suites, run on the copy."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments],
        env=os.environ | {"PYTHONPATH": f"{tree}:{tree / 'tests'}"},
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )


def with_held(tree: Path, mechanism: str) -> None:
    """The mechanism of the recipe, or a broken one, in all its files."""
    (tree / "tacit/mechanisms/held.py").write_text(mechanism, encoding="utf-8")
    names = tree / "tacit/mechanisms/__init__.py"
    change(
        names,
        "from tacit.mechanisms.kary_response",
        "from tacit.mechanisms.held import Held\nfrom tacit.mechanisms.kary_response",
    )
    change(names, '    "KaryResponse",\n', '    "Held",\n    "KaryResponse",\n')
    cases = tree / "tests/conformance/mechanism_cases.py"
    change(cases, "    KaryResponse,\n", "    Held,\n    KaryResponse,\n")
    change(cases, "\nCASES = (\n", f"\n{recipe('HELD = Case(')}\nCASES = (\n    HELD,\n")


HELD = ("tests/conformance/test_mechanisms.py", "-k", "Held or every_mechanism_is_in_the_suite")


def test_a_mechanism_is_added_as_the_recipe_says(tree: Path) -> None:
    with_held(tree, recipe("class Held:"))
    done = suite(tree, *HELD)
    assert done.returncode == 0, done.stdout
    ran = re.search(r"(\d+) passed", done.stdout)
    assert ran is not None
    assert int(ran[1]) >= 8, "its law, a wrong scale, its audit, its docstring, its refusals"


def test_a_mechanism_with_half_the_noise_does_not_pass(tree: Path) -> None:
    half = recipe("class Held:").replace(
        "Laplace.costing(loss, sensitivity)", "Laplace(Laplace.costing(loss, sensitivity).scale / 2)"
    )
    with_held(tree, half)
    failed = suite(tree, *HELD).stdout
    assert re.search(r"FAILED .*\[Held\]", failed), failed


AGGREGATE = """\
import math, sys, tempfile
from pathlib import Path
from conformance import sql_questions
from conformance.sql_clinic import row_clinic
from conformance.sql_sensitivity import fuzz
from tacit.curator import Session
clinic = row_clinic()
curator = clinic.curator(Path(tempfile.mkdtemp()))
question = "DP-SELECT 9 RMS(age) AS r, RMS(age) FILTER (WHERE insured) AS some FROM visits"
answer = curator.ask(question, session=Session("ana"))
exact = clinic.engine.execute("SELECT CAST(1000000 * sqrt(avg(age * age)) AS BIGINT) AS n FROM visits")
truth = exact.integers("n")[0] / 1e6
(value, other), (error, _) = answer.rows[0], answer.errors[0]
print(error is not None and abs(value - truth) < 4 * error, 0 <= other <= 90, answer.cost.epsilon)
sql_questions.AGGREGATES = tuple(form for form in sql_questions.AGGREGATES if form.startswith("RMS"))
for tried in fuzz(1, pairs=400):
    pass
print(tried.plans > 10, tried.pairs >= 400)
"""


def test_an_aggregate_is_added_as_the_recipe_says(tree: Path) -> None:
    """Noise strays beyond four times its 95 % half-width once in a hundred thousand runs."""
    assert '`"RMS": _root_mean_square,`' in GUIDE
    assert '`"RMS(°)",`' in GUIDE
    aggregates = tree / "tacit/sql/binding/aggregates.py"
    change(aggregates, "\n_AGGREGATES: dict", f"\n{recipe('def _root_mean_square(')}\n\n_AGGREGATES: dict")
    change(aggregates, '    "SUM": _sum,\n', '    "SUM": _sum,\n    "RMS": _root_mean_square,\n')
    change(tree / "tests/conformance/sql_questions.py", '    "VAR_POP(°)",\n', '    "VAR_POP(°)",\n    "RMS(°)",\n')
    done = subprocess.run(
        [sys.executable, "-c", AGGREGATE],
        env=os.environ | {"PYTHONPATH": f"{tree}:{tree / 'tests'}"},
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "True True 9\nTrue True\n", done.stderr


ENGINE = """\
import tacit
from pathlib import Path
from conformance.engine_words import ENGINES
Path("data").mkdir()
ENGINES["folder"][0](Path("data").absolute())
Path("tacit.toml").write_text('''
[dataset]
name = "house"
source = "data"
engine = "folder"
[budget]
epsilon = 10
[tables.people]
unit = "id"
max_rows = 1
max_groups = 1
[analysts.ana]
epsilon = 10
''')
with tacit.open("tacit.toml", analyst="ana") as db:
    answer = db.query("DP-SELECT 5 COUNT(*) AS n FROM people")
    print(abs(answer.scalar() - 20000) < 50, answer.cost.epsilon)
"""


def test_an_engine_is_added_as_the_recipe_says(tree: Path) -> None:
    (tree / "tacit/engines/folder.py").write_text(recipe("def open_folder("), encoding="utf-8")
    spec = "".join(f"        {line}\n" for line in recipe('name="folder",').splitlines())
    change(
        tree / "tacit/policy/sources/engine_specs.py",
        '        EngineSpec(\n            name="sqlite",\n',
        f'{spec}        EngineSpec(\n            name="sqlite",\n',
    )
    entry = '"folder": (over_a_folder, DUCKDB),'
    assert f"`{entry}`" in GUIDE
    words = tree / "tests/conformance/engine_words.py"
    change(words, "\nENGINES: dict", f"\n{recipe('def over_a_folder(')}\n\nENGINES: dict")
    change(
        words,
        '    "duckdb-files": (over_parquet, DUCKDB),\n',
        f'    "duckdb-files": (over_parquet, DUCKDB),\n    {entry}\n',
    )
    done = suite(tree, "tests/conformance/test_engines.py", "-k", "folder")
    assert done.returncode == 0, done.stdout
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) > 50
    said = subprocess.run(
        [sys.executable, "-c", ENGINE],
        env=os.environ | {"PYTHONPATH": f"{tree}:{tree / 'tests'}"},
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.stdout == "True 5\n", said.stderr
