"""A tax office and a clinic, made up row by row from hashes: the same on every machine, true of nobody."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tacit.engines import run_owner_sql
from tacit.policy import Policy, load_policy

LECTURE_ROWS = (  # example 1 of the slides that docs/explanation/corrections.md calls 000; Sara Lee owes a billion
    (1959060783, "Li Pu", 150_000, 1_000_000, 60, "1001", "Politician"),
    (1946061408, "Sara Lee", 300_000, -1_000_000_000, 72, "1001", "Rentier"),
    (2100010101, "A. B. Student", 10_000, 100_000, 40, "6732", "Time traveller"),
)
PROFESSIONS = (  # name, share in percent, middle salary
    ("Teacher", 24, 52_000),
    ("Nurse", 22, 48_000),
    ("Clerk", 20, 44_000),
    ("Policeman", 12, 50_000),
    ("Engineer", 10, 78_000),
    ("Doctor", 6, 110_000),
    ("Politician", 3, 120_000),
    ("Rentier", 2, 160_000),
    ("Time traveller", 1, 20_000),
)
DIAGNOSES = (  # name, in how many of 10,000 visits
    ("flu", 3_000),
    ("back pain", 2_400),
    ("hypertension", 2_000),
    ("diabetes", 1_200),
    ("asthma", 800),
    ("fracture", 400),
    ("migraine", 200),
)
CITIES = ("Neuchâtel", "Bern", "Basel", "Zürich", "Genève", "Lausanne")

TAX_POLICY = f"""\
[dataset]
name = "tax"
source = "tax.duckdb"
[budget]
epsilon = 4              # all analysts together, for ever
delta = 1e-6
[analysts.ana]
epsilon = 3
[analysts.mallory]
epsilon = 1
[tables.people]
unit = "row"             # one row, one person
[tables.people.columns]  # id is not named, so analysts cannot use it
name     = {{}}
salary   = {{ lower = 0, upper = 300000, step = 1 }}
deposits = {{ lower = -100000, upper = 1000000, step = 1 }}
age      = {{ lower = 18, upper = 100, step = 1, domain = "range" }}
postcode = {{}}            # no public domain: its keys are private
prof     = {{ domain = {[name for name, *_ in PROFESSIONS]!r} }}
""".replace("'", '"')
CLINIC_POLICY = """\
[dataset]
name = "clinic"
source = "clinic.duckdb"
[budget]
epsilon = 3
delta = 1e-6
[analysts.ana]
epsilon = 3
[tables.visits]
unit = "patient_id"      # a patient, with all of their visits
max_groups = 8           # groups one patient may touch
max_rows = 8             # visits of one patient counted in one group
[tables.visits.columns]
day       = { lower = 2025-01-01, upper = 2025-12-31, domain = "range" }
age       = { lower = 0, upper = 100, step = 1 }
smoker    = {}
diagnosis = {}           # no public domain: a rare disease must not give its bearer away
city      = { domain = { table = "cities", column = "name" } }
cost      = { lower = 0, upper = 2000, step = 1 }
[tables.cities]
public = true
"""


@dataclass(frozen=True, slots=True)
class DemoDataset:
    """One of the two databases, and its policy."""

    policy_path: Path
    policy: Policy

    def truth(self, sql: str) -> list[tuple[object, ...]]:
        """True rows, by the owner's door: the demonstration owns its data."""
        return run_owner_sql(self.policy, sql)[1]


def build_tax_office(directory: Path, *, rows: int) -> DemoDataset:
    """A row for each person: the three of `LECTURE_ROWS`, and made-up ones."""
    office = _office(directory, "tax", TAX_POLICY)
    run_owner_sql(
        office.policy,
        "CREATE TABLE people (id BIGINT, name VARCHAR, salary BIGINT, deposits BIGINT, age INTEGER,"
        " postcode VARCHAR, prof VARCHAR)",
    )
    for person in LECTURE_ROWS:
        run_owner_sql(office.policy, "INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", person)
    middle = " ".join(f"WHEN '{name}' THEN {salary}" for name, _, salary in PROFESSIONS)
    run_owner_sql(
        office.policy,
        f"""INSERT INTO people
        SELECT 3000000000 + i, 'Person ' || i,
            least(300000, CAST((CASE prof {middle} END) * exp(0.9 * ({_bell("salary")})) AS BIGINT)),
            CAST(-50000 + 400000 * pow({_unit("deposits")}, 3) AS BIGINT),
            18 + CAST(70 * ({_unit("age")} + {_unit("years")}) / 2 AS INTEGER),
            CAST(1000 + CAST(90 * pow({_unit("postcode")}, 2) AS INTEGER) AS VARCHAR), prof
        FROM (SELECT i, {_chosen("prof", [(name, share) for name, share, _ in PROFESSIONS], 100)} AS prof
              FROM range({rows - len(LECTURE_ROWS)}) AS made(i))""",
    )
    return office


def build_clinic(directory: Path, *, rows: int) -> DemoDataset:
    """A row for each visit, four to a patient on average; one patient alone has a very rare disease."""
    office = _office(directory, "clinic", CLINIC_POLICY)
    patients = max(2, rows // 4)
    run_owner_sql(office.policy, f"CREATE TABLE cities AS SELECT unnest({list(CITIES)!r}) AS name")
    ordinary = _chosen("diagnosis", list(DIAGNOSES), 10_000)
    run_owner_sql(
        office.policy,
        f"""CREATE TABLE visits AS
        SELECT patient_id, DATE '2025-01-01' + CAST(364 * ({_unit("day")} + {_unit("time")}) / 2 AS INTEGER) AS day,
            age, smoker,
            CASE WHEN i = 7 THEN 'kuru'
                 WHEN {_unit("cancer")} < (CASE WHEN smoker THEN 0.014 ELSE 0.001 END) THEN 'lung cancer'
                 ELSE coalesce({ordinary}, 'flu') END AS diagnosis,
            list_extract({list(CITIES)!r}, 1 + CAST(floor({len(CITIES)} * pow({_unit("city", "patient_id")}, 1.5))
                                               AS INTEGER)) AS city,
            least(2000, CAST(120 * exp(1.3 * ({_bell("cost")})) AS INTEGER)) AS cost
        FROM (SELECT i, patient_id, CAST(95 * {_unit("age", "patient_id")} AS INTEGER) AS age,
                     {_unit("smoker", "patient_id")} < 0.25 AS smoker
              FROM (SELECT i, CAST({patients} * {_unit("patient")} AS BIGINT) AS patient_id
                    FROM range({rows}) AS made(i)))""",
    )
    return office


def _office(directory: Path, name: str, text: str) -> DemoDataset:
    path = directory / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return DemoDataset(path, load_policy(path))


def _unit(what: str, whose: str = "i") -> str:
    """A number from [0, 1) that depends on the row and on what it is for, and on nothing else."""
    return f"(CAST(hash('{what}/' || {whose}) % 1000000 AS DOUBLE) / 1000000)"


def _bell(what: str) -> str:
    """Three of them make a bell around zero."""
    return f"{_unit(what + ' 1')} + {_unit(what + ' 2')} + {_unit(what + ' 3')} - 1.5"


def _chosen(what: str, shares: list[tuple[str, int]], of: int) -> str:
    """One of the names, each with its share."""
    whens, reached = [], 0
    for name, share in shares:
        reached += share
        whens.append(f"WHEN {_unit(what)} * {of} < {reached} THEN '{name}'")
    return f"CASE {' '.join(whens)} END"
