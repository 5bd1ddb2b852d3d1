"""Linked synthetic tables: keys that fit, rules that hold, numbers of children, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import pytest

import tacit
from support.linked import Patient, Visit, clinic, policy, publisher
from support.sources import Seeded
from tacit.core import Loss
from tacit.errors import InvalidParameter, QueryRefused, TacitError
from tacit.policy import (
    AnalystPolicy,
    BudgetPolicy,
    ColumnPolicy,
    Dataset,
    FileSource,
    Policy,
    TablePolicy,
    policy_text,
)
from tacit.release.linked import LinkedModel, LinkedPlan, LinkedRequest, file_of, plan_linked

BOTH = ("patients", "visits")
PILLS = TablePolicy(
    "pills",
    "patient -> patients.id",
    columns=[ColumnPolicy("patient", type="integer"), ColumnPolicy("red", type="boolean", null=False)],
    max_rows=2,
    max_groups=1,
)


def made(declared: Policy, *, epsilon: object = 20, seed: int = 3, **more: object) -> LinkedModel:
    """A model with noise from one seed."""
    wish = LinkedRequest(more.pop("tables", BOTH), epsilon, "1e-6", fresh=True, **more)  # type: ignore[arg-type]
    with publisher(declared, Seeded(seed)) as door:
        return door.publish(wish, declared.analyst("ana")).value


def per_patient(model: LinkedModel, child: str = "visits", key: str = "patient_id") -> list[int]:
    """How many rows each synthetic patient has."""
    counted = model.query(
        f"SELECT COUNT(c.{key}) FROM patients AS p LEFT JOIN {child} AS c ON c.{key} = p.id GROUP BY p.id"
    )
    return [number for (number,) in counted]


# ── what is made ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_visit_is_that_of_a_patient_who_is_there(tmp_path: Path) -> None:
    model = made(policy(tmp_path, *clinic(300)))
    patients, visits = (model.rows_drawn[name] for name in BOTH)
    assert patients.columns == ("id", "sex", "age")
    assert visits.columns == ("patient_id", "ward", "age")
    keys = patients.lists()[0]
    assert keys == list(range(1, len(patients) + 1))
    assert set(visits.lists()[0]) <= set(keys)
    assert len(visits) > len(patients) > 0
    assert max(per_patient(model)) <= 3
    assert set(visits.lists()[1]) <= {"a", "b", "c", None}


def test_rows_are_drawn_anew_or_again_and_kept_without_pickle(tmp_path: Path) -> None:
    model = made(policy(tmp_path, *clinic(100)))
    assert [list(table) for table in model.rows_drawn.values()] == [
        list(table) for table in LinkedModel.from_bytes(model.to_bytes()).rows_drawn.values()
    ]
    fewer = model.sample(10)
    assert len(fewer["patients"]) == 10
    assert set(fewer["visits"].lists()[0]) <= set(range(1, 11))
    assert all(len(table) == 0 for table in model.sample(0).values())
    model.save(tmp_path / "clinic.model")
    assert LinkedModel.load(tmp_path / "clinic.model").to_bytes() == model.to_bytes()
    with pytest.raises(InvalidParameter, match="not overwritten"):
        model.save(tmp_path / "clinic.model")
    body = bytearray(model.to_bytes())
    body[len(body) // 2] ^= 1
    with pytest.raises(InvalidParameter, match="model of linked tables"):
        LinkedModel.from_bytes(bytes(body))
    with pytest.raises(InvalidParameter, match="cannot be read"):
        LinkedModel.load(tmp_path / "none.model")


def test_the_rules_of_either_table_hold_in_every_row(tmp_path: Path) -> None:
    """A rule on a column that both tables have is on the table's own."""
    rules = ["ward <> 'a' OR age <= 4", "age >= 1"]
    model = made(policy(tmp_path, *clinic(200), rules=rules), epsilon=1)
    broken = model.query("SELECT COUNT(*) FROM visits WHERE (ward = 'a' AND age > 4) OR age < 1")
    assert broken == [(0,)]
    assert len(model.rows_drawn["visits"]) > 0


def test_one_parent_may_have_several_kinds_of_children(tmp_path: Path) -> None:
    patients, visits = clinic(200)
    (tmp_path / "pills.csv").write_text(
        "patient,red\n" + "".join(f"{i},{'true' if i % 3 else 'false'}\n" for i in range(150) for _ in range(2))
    )
    model = made(policy(tmp_path, patients, visits, more=[PILLS]), tables=("pills", "patients", "visits"))
    assert model.tables == ("patients", "pills", "visits")
    pills = per_patient(model, "pills", "patient")
    assert max(pills) <= 2
    assert abs(np.mean(np.array(pills) == 2) - 0.75) < 0.1
    assert abs(np.mean([red for _, red in model.rows_drawn["pills"]]) - 2 / 3) < 0.1


def test_a_parent_may_be_anothers_and_so_may_the_unit(tmp_path: Path) -> None:
    """Persons of a household, and their trips: the household is hidden, its persons are the parents."""
    (tmp_path / "persons.csv").write_text(
        "id,house,adult\n" + "".join(f"{i},{i // 3},{'true' if i % 3 else 'false'}\n" for i in range(240))
    )
    (tmp_path / "trips.csv").write_text("person,far\n" + "".join(f"{i},true\n" for i in range(240) if i % 3))
    integer = [ColumnPolicy(name, type="integer") for name in ("id", "house", "person")]
    declared = Policy(
        Dataset("town", FileSource((("persons", "persons.csv"), ("trips", "trips.csv"))), base=tmp_path),
        BudgetPolicy(100, "1e-3"),
        tables=[
            TablePolicy("persons", "house", columns=[*integer[:2], ColumnPolicy("adult", type="boolean", null=False)],
                        max_rows=4, max_groups=2),
            TablePolicy("trips", "person -> persons.id", columns=[integer[2], ColumnPolicy("far", type="boolean")],
                        max_rows=6, max_groups=2),
        ],
        analysts=[AnalystPolicy("ana", 100)],
    )  # fmt: skip
    model = made(declared, tables=("persons", "trips"), epsilon=30)
    assert model.rows_drawn["persons"].columns == ("id", "adult")
    ((with_trips, without),) = model.query("""
        SELECT AVG(n) FILTER (adult), AVG(n) FILTER (NOT adult) FROM (
            SELECT p.id, adult, COUNT(t.person) AS n
            FROM persons AS p LEFT JOIN trips AS t ON t.person = p.id GROUP BY ALL)
    """)
    assert with_trips > 0.7
    assert without < 0.3


@pytest.mark.parametrize(
    ("patients", "visits"), [([], []), ([(1, "f", 3)], []), ([(1, "f", 3)], [(1, "a", 2)]), ([], [(1, "a", 2)])]
)
def test_tables_of_nobody_and_of_one_patient_work(tmp_path: Path, patients: list[Patient], visits: list[Visit]) -> None:
    model = made(policy(tmp_path, patients, visits), epsilon="0.5")
    keys = set(model.rows_drawn["patients"].lists()[0])
    assert set(model.rows_drawn["visits"].lists()[0]) <= keys


def test_a_large_cap_puts_neighbouring_numbers_together(tmp_path: Path) -> None:
    declared = policy(tmp_path, *clinic(30), max_rows=1_000)
    with publisher(declared) as door:
        plan = plan_linked(declared, door.engine, LinkedRequest(BOTH, 1))
    number = plan.parent.counted.attributes[-1]
    assert (number.cells, number.widths[0], number.lows[-1] + number.widths[-1]) == (91, 11, 1_001)
    model = made(declared, epsilon=1)
    assert max(per_patient(model), default=0) <= 1_000


# ── what it is worth ─────────────────────────────────────────────────────────────────────────────────────────────────

CORRELATIONS = """
    SELECT CORR(p.age, v.age), CORR(p.age, CASE ward WHEN 'a' THEN 0 WHEN 'b' THEN 1 ELSE 2 END),
        (AVG(v.age) FILTER (sex = 'm') - AVG(v.age) FILTER (sex = 'f')) / 9, CORR(p.age, n)
    FROM patients AS p JOIN visits AS v ON v.patient_id = p.id
    JOIN (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS k ON k.patient_id = p.id
"""


def test_numbers_of_visits_and_what_patients_tell_of_them_are_kept(tmp_path: Path) -> None:
    """10,000 patients at ε = 2, of whom one in a hundred is above the cap; noise from one seed."""
    patients, visits = clinic(10_000)
    model = made(policy(tmp_path, patients, visits, max_rows=6), epsilon=2, seed=11)
    numbers = np.bincount([row[0] for row in visits], minlength=10_000)  # type: ignore[misc]
    true, found = (np.bincount(np.minimum(each, 6), minlength=7) for each in (numbers, per_patient(model)))
    assert np.abs(true / true.sum() - found / found.sum()).sum() / 2 < 0.02
    assert abs(len(model.rows_drawn["patients"]) - 10_000) < 50
    with duckdb.connect() as held:
        for name in BOTH:
            held.execute(f"CREATE TABLE {name} AS FROM '{tmp_path / name}.csv'")
        (truth,) = held.execute(CORRELATIONS).fetchall()
    (drawn,) = model.query(CORRELATIONS)
    assert [abs(one - other) < 0.1 for one, other in zip(truth, drawn, strict=True)] == [True] * 4
    for one in (truth[0], truth[1], truth[3]):
        assert one > 0.3  # there is something to keep: independent rows would not pass


def test_errors_are_told_of_columns_and_of_pairs_across_tables(tmp_path: Path) -> None:
    small, large = (made(policy(tmp_path, *clinic(number)), epsilon=2) for number in (50, 500))
    for names in (("visits.ward",), ("patients.sex", "visits.ward"), ("patients.number of visits",)):
        assert small.error(*names) > large.error(*names) > 0  # type: ignore[operator]
    with pytest.raises(InvalidParameter, match="one or two columns"):
        small.error("ward")
    assert "at most 3 rows of a unit count in visits" in small.notes[0]


# ── what is paid, kept and refused ───────────────────────────────────────────────────────────────────────────────────


def opened_at(base: Path, declared: Policy) -> tacit.Database:
    (base / "tacit.toml").write_text(policy_text(declared))
    return tacit.open(base / "tacit.toml", analyst="ana")


def test_the_python_door_makes_several_tables_for_one_price(tmp_path: Path) -> None:
    with opened_at(tmp_path, policy(tmp_path, *clinic(60))) as db:
        seen: list[float] = []
        model = db.synthesise(["patients", "visits"], epsilon=2, progress=seen.append)
        assert (seen[-1], seen) == (1.0, sorted(seen))
        charges = [(entry.epsilon, entry.asked.tables) for entry in db.log if entry.asked is not None]
        assert charges == [(2, ("patients", "visits"))]
        again = db.synthesise(("visits", "patients"), epsilon=1)
        assert again.to_bytes() == model.to_bytes()
        assert sum(entry.asked is not None for entry in db.log) == 1  # the same tables, and no noisier: free
        few = db.synthesise(["patients", "visits"], epsilon=1, columns={"visits": ["ward"]})
        assert [table.columns for table in few.rows_drawn.values()] == [("id", "sex", "age"), ("patient_id", "ward")]
        with pytest.raises(InvalidParameter, match="of each, by its name"):
            db.synthesise(["patients", "visits"], epsilon=1, columns=["ward"])
        with pytest.raises(InvalidParameter, match="a list of names"):
            db.synthesise("visits", epsilon=1, columns={"visits": ["ward"]})  # type: ignore[call-overload]


def test_a_request_made_twice_is_paid_once(tmp_path: Path) -> None:
    declared = policy(tmp_path, *clinic(20))
    with publisher(declared) as door:
        wish = LinkedRequest(BOTH, 1, fresh=True, request_id="r")
        first, second = (door.publish(wish, declared.analyst("ana")) for _ in range(2))
    assert (first.cost, second.cost) == (Loss(1, "1e-6"), Loss(0))
    assert first.value.to_bytes() == second.value.to_bytes()


WISHES: tuple[dict[str, object], ...] = (
    {},
    {"columns": (("visits", ("ward",)),)},
    {"columns": (("visits", ("age", "ward")),)},
    {"columns": (("patients", ("sex",)),)},
    {"method": "mst"},
    {"columns": (("VISITS", ("WARD", "Age")),)},  # the same as all of them
)


def differing(base: Path, wishes: Sequence[dict[str, object]] = WISHES) -> tuple[list[int], list[int]]:
    """Which wishes are given something else than a new release with the same noise, and which found one there."""
    kept, fresh = base / "kept", base / "fresh"
    for folder in (kept, fresh):
        folder.mkdir()
    old, new = (policy(folder, *clinic(30)) for folder in (kept, fresh))
    others, reused = [], []
    for index, more in enumerate(wishes):
        wish = LinkedRequest(BOTH, 1, "1e-6", **more)  # type: ignore[arg-type]
        with publisher(old, Seeded(3)) as door:
            found = door.publish(wish, old.analyst("ana"))
        wanted = made(new, epsilon=1, **more)
        reused += [index] * found.reused
        others += [index] * (found.value.to_bytes() != wanted.to_bytes())
    return others, reused


def test_a_kept_release_is_what_a_new_one_would_be(tmp_path: Path) -> None:
    assert differing(tmp_path) == ([], [5])


def test_a_key_that_forgets_the_columns_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LinkedPlan, "shape", property(lambda _: ""))
    monkeypatch.setattr(LinkedPlan, "said", property(lambda _: ""))
    assert differing(tmp_path, WISHES[:2])[0] == [1]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"tables": ("patients",)}, "two or more"),
        ({"tables": ("patients", "PATIENTS")}, "two or more"),
        ({"tables": ("visits", "pills")}, "not one table and others"),
        ({"tables": ("patients", "elsewhere")}, "unknown table"),
        ({"tables": BOTH, "columns": (("pills", ("red",)),)}, "none of the tables"),
        ({"tables": BOTH, "columns": (("visits", ("patient_id",)),)}, "is a key"),
        ({"tables": BOTH, "columns": (("patients", ("id",)),)}, "is a key"),
        ({"tables": BOTH, "columns": (("visits", ("nothing",)),)}, "unknown column"),
        ({"tables": BOTH, "method": "magic"}, "no method"),
        ({"tables": ("patients", "pills", "steps")}, "not one table and others"),
        ({"tables": ("pills", "steps")}, "max_rows is not declared for steps"),
    ],
)
def test_what_cannot_be_made_is_refused_before_anything_is_paid(tmp_path: Path, wish: dict, message: str) -> None:
    (tmp_path / "pills.csv").write_text("patient,red,id\n")
    (tmp_path / "steps.csv").write_text("pill,number\n")
    steps = TablePolicy(
        "steps", "pill -> pills.id", columns=[ColumnPolicy("number", type="integer", lower=0, upper=3)], max_groups=1
    )
    declared = policy(tmp_path, *clinic(5), more=[PILLS, steps])
    with publisher(declared) as door:
        with pytest.raises(TacitError, match=message) as told:
            door.publish(LinkedRequest(epsilon=1, **wish), declared.analyst("ana"))
        assert told.value.hint or message in {"none of the tables", "unknown column", "unknown table", "no method"}
        assert not door.ledger.entries(limit=1, analyst="ana")


def test_a_delta_and_public_domains_are_needed(tmp_path: Path) -> None:
    pure = policy(tmp_path, *clinic(5), budget=BudgetPolicy(10))
    with publisher(pure) as door, pytest.raises(QueryRefused, match="Gaussian"):
        door.plan(LinkedRequest(BOTH, 1))


def test_no_file_is_named_after_a_path() -> None:
    assert file_of(Path("made/clinic.csv"), "visits") == Path("made/clinic-visits.csv")
    with pytest.raises(InvalidParameter, match="no file can be named"):
        file_of(Path("clinic.csv"), "../visits")
