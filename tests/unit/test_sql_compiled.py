"""The compiled build of sqlglot plans what the plain one does: the same hashes, the same SQL, the same refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from conformance.sql_county import county
from tacit.core import Loss
from tacit.errors import TacitError
from tacit.sql import parse, plan
from tacit.sql.postprocessing.binding import bind_statement
from unit.test_sql_analysts import cases

TESTS = Path(__file__).parent.parent
ASKED = [case.text for case in cases(TESTS / "unit" / "data" / "sql_county.sql")][::6]
BROKEN = [
    "NOT " * 7_000 + "sick",
    "a = ANY " * 3_000 + "b",
    "LEAST()",
    "TRYCAST(sex, 1) = 1",
    "CASTTOSTRTYPE(sex, 'a') = 1",
    "SUBSTRING()",
    "income > 'a",
    "- " * 7_000 + "1",
]
PLAINLY = """
import sys
sys.path[:0] = {paths}
from support.plain_sqlglot import import_plainly
import_plainly()
from unit.test_sql_compiled import printed
printed()
"""


def told(texts):
    """For each question its plan's hash and SQL, or why it is refused."""
    world = county()
    answers = []
    for text in texts:
        try:
            bound = bind_statement(parse(text), world.policy, schema=world.engine.schema()).questions[0]
            made = plan(bound, world.policy, price=Loss(1, "1e-6"))
            answers.append([made.hash, *(run.sql(each) for run in made.runs for each in ("duckdb", "postgres"))])
        except (TacitError, TypeError) as error:
            answers.append([type(error).__name__, str(error)])
    world.engine.close()
    return answers


def asked():
    return [*ASKED, *(f"DP-SELECT 1 COUNT(*) FROM persons WHERE {condition}" for condition in BROKEN)]


def printed():
    parser = sys.modules["sqlglot.parser"].__file__
    print(json.dumps([Path(str(parser)).suffix, told(asked())]))


@pytest.mark.skipif(find_spec("sqlglot.parser__mypyc") is None, reason="sqlglot is not compiled here")
def test_the_compiled_build_plans_and_refuses_what_the_plain_one_does():
    code = PLAINLY.format(paths=[str(TESTS), str(TESTS.parent)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    suffix, plainly = json.loads(done.stdout.splitlines()[-1])
    assert suffix == ".py"
    assert sys.modules["sqlglot.parser"].__file__.endswith(".so")
    compiled = told(asked())
    assert sum(len(each[0]) == 64 for each in compiled) > 10  # plans, and not refusals alone
    assert compiled == plainly
