"""Every kind of release of a table of nobody, of one unit, of rows outside all domains, and of domains of one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from matplotlib import pyplot

import tacit
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, FileSource, Policy, TablePolicy

Rows = list[tuple[object, ...]]
TABLES: dict[str, tuple[Rows, Rows]] = {  # patients and visits
    "nobody": ([], []),
    "one with a visit": ([(1, "f", 1950, 3, 3, "t1")], [(1, "a", 0)]),
    "one without": ([(1, "f", 1950, 3, 3, "t1")], []),
    "outside of all domains": ([(1, "zz", 1, 99, -99, "nowhere"), ("", "", "", "", "", "")], [(7, "zz", 999)]),
}
SEVERAL = {"sex": ["f", "m"], "born": {"lower": 1900, "upper": 2000}, "ward": ["a", "b"], "towns": ("t1", "t2", "t3")}
SINGLE = {"sex": ["f"], "born": {"domain": [1950]}, "ward": ["a"], "towns": ("t1",)}


def clinic(base: Path, tables: tuple[Rows, Rows], domains: dict[str, object]) -> Policy:
    for name, header, lines in (
        ("patients", "id,sex,born,x,y,town", tables[0]),
        ("visits", "patient,ward,days", tables[1]),
        ("places", "town,region", [(town, "north") for town in domains["towns"]]),  # type: ignore[attr-defined]
    ):
        written = "".join(",".join(map(str, line)) + "\n" for line in lines)
        (base / f"{name}.csv").write_text(f"{header}\n{written}")
    patients = [
        ColumnPolicy("id", type="integer"),
        ColumnPolicy("sex", type="text", domain=domains["sex"]),  # type: ignore[arg-type]
        ColumnPolicy("born", type="integer", **domains["born"]),  # type: ignore[arg-type]
        ColumnPolicy("x", type="number", lower=0, upper=10, step="0.5"),
        ColumnPolicy("y", type="number", lower=3, upper="3.5", step="0.5"),
        ColumnPolicy("town", type="text", domain={"table": "places", "column": "town"}),
    ]
    visits = [
        ColumnPolicy("patient", type="integer"),
        ColumnPolicy("ward", type="text", domain=domains["ward"]),  # type: ignore[arg-type]
        ColumnPolicy("days", type="integer", lower=0, upper=30),
    ]
    files = (
        ("patients", "patients.csv"),
        ("visits", "visits.csv"),
        ("places", "places.csv"),
        ("rowed", "patients.csv"),
    )
    return Policy(
        Dataset("clinic", FileSource(files), base=base),
        BudgetPolicy(1_000, "1e-2", default_delta="1e-6"),
        tables=[
            TablePolicy("patients", "id", max_rows=1, max_groups=1, columns=patients),
            TablePolicy("visits", "patient -> patients.id", max_rows=3, max_groups=2, columns=visits),
            TablePolicy("places", public=True),
            TablePolicy("rowed", "row", columns=patients),
        ],
        analysts=[AnalystPolicy("ana", 1_000)],
    )


@contextmanager
def asked(base: Path, tables: tuple[Rows, Rows], domains: dict[str, object]) -> Iterator[tacit.Database]:
    with tacit.open(clinic(base, tables, domains), analyst="ana") as db:
        yield db


def synthesised(db: tacit.Database, base: Path) -> None:
    model = db.synthesise("patients", epsilon=1)
    model.sample(7).write(base / "rows.parquet")
    assert len(model.sample(7)) == 7
    assert len(db.query("DP-SELECT 1 sex, town FROM patients LIMIT 3")) <= 3
    assert len(db.query("SELECT COUNT(*) AS n FROM patients SYNTHETIC")) == 1


def linked(db: tacit.Database, _: Path) -> None:
    model = db.synthesise(["patients", "visits"], epsilon=1)
    assert model.query("SELECT COUNT(*) FROM visits WHERE patient NOT IN (SELECT id FROM patients)") == [(0,)]


def responses(db: tacit.Database, _: Path) -> None:
    db.query("DP-SELECT 1 sex, town FROM rowed USING RANDOMISED RESPONSE LIMIT 3")
    (count,) = db.query("DP-SELECT 1 COUNT(*) FROM rowed WHERE sex = 'f' USING RANDOMISED RESPONSE")
    assert abs(count[0]) < 10_000


def hierarchy(db: tacit.Database, base: Path) -> None:
    for by in ([], ["sex"]):
        counts = db.hierarchy("patients", "town", epsilon=1, levels=["region"], by=by)
        assert counts.total() == counts.total("north") == sum(counts.counts[-1].ravel())
        counts.plot("region").savefig(base / f"regions{len(by)}.png")


def histogram(db: tacit.Database, base: Path) -> None:
    for column in ("sex", "town", "born", "y"):
        db.histogram("patients", column, epsilon=1).plot().savefig(base / f"{column}.png")
    shares = db.histogram("patients", "x", epsilon=1)
    shares.plot("cdf").savefig(base / "cdf.png")
    assert 0 <= shares.quantile(0.5)[0] <= 10.5
    assert shares.cdf()[-1][1] in {0, 1}


def heatmap(db: tacit.Database, base: Path) -> None:
    found = db.heatmap("patients", "x", "y", epsilon=1)
    for suffix in ("html", "png", "csv"):
        found.write(base / f"map.{suffix}")
    assert found.total >= 0


def workload(db: tacit.Database, _: Path) -> None:
    run = db.workload("patients", ["sex", "born"], epsilon=1)
    for condition in ("sex = 'f'", "born < 2050", "sex = 'f' AND born IS NULL"):
        assert abs(float(run.count(condition))) < 10_000


KINDS: tuple[Callable[[tacit.Database, Path], None], ...] = (
    synthesised, linked, responses, hierarchy, histogram, heatmap, workload,
)  # fmt: skip


@pytest.mark.parametrize("domains", [SEVERAL, SINGLE], ids=["several values", "one value"])
@pytest.mark.parametrize("name", list(TABLES))
def test_every_release_works(tmp_path: Path, name: str, domains: dict[str, object]) -> None:
    with asked(tmp_path, TABLES[name], domains) as db:
        for kind in KINDS:
            kind(db, tmp_path)
            pyplot.close("all")


EMPTY = {**SEVERAL, "towns": ()}
WISHES: dict[str, Callable[[tacit.Database], object]] = {
    "hierarchy": lambda db: db.hierarchy("patients", "town", epsilon=1, levels=["region"]),
    "histogram": lambda db: db.histogram("patients", "town", epsilon=1),
}


@pytest.mark.parametrize("name", list(WISHES))
def test_a_public_table_that_lists_no_value_is_told_of_before_anything_is_paid(tmp_path: Path, name: str) -> None:
    with asked(tmp_path, TABLES["nobody"], EMPTY) as db:
        with pytest.raises(tacit.QueryRefused, match=r"patients\.town has no public value") as refused:
            WISHES[name](db)
        assert "[tables.patients.columns]" in str(refused.value.hint)
        assert db.budget.total.spent.epsilon == 0


# ── what the policy does not say ─────────────────────────────────────────────────────────────────────────────────────

BARE: dict[str, Callable[[tacit.Database], object]] = {
    "synthesise": lambda db: db.synthesise("t", columns=["note"], epsilon=1),
    "rows": lambda db: db.query("DP-SELECT 1 note FROM t"),
    "responses": lambda db: db.query("DP-SELECT 1 note FROM t USING RANDOMISED RESPONSE"),
    "workload": lambda db: db.workload("t", ["note"], epsilon=1),
    "histogram": lambda db: db.histogram("t", "note", epsilon=1),
    "hierarchy": lambda db: db.hierarchy("t", "note", epsilon=1),
    "heatmap": lambda db: db.heatmap("t", "note", "many", epsilon=1),
    "by": lambda db: db.hierarchy("t", "town", epsilon=1, by=["note"]),
}
WIDE: dict[str, Callable[[tacit.Database], object]] = {
    "synthesise": lambda db: db.synthesise("t", columns=["wide"], epsilon=1),
    "rows": lambda db: db.query("DP-SELECT 1 wide FROM t"),
    "responses": lambda db: db.query("DP-SELECT 1 wide FROM t USING RANDOMISED RESPONSE"),
    "workload": lambda db: db.workload("t", ["many", "town", "lots"], epsilon=1),
    "histogram": lambda db: db.histogram("t", "wide", epsilon=1),
    "hierarchy": lambda db: db.hierarchy("t", "wide", epsilon=1, by=["many", "lots"]),
}


def plain(base: Path) -> Policy:
    (base / "t.csv").write_text("note,town,wide,many,lots\nx,a,1,1,1\n")
    columns = [
        ColumnPolicy("note", type="text"),
        ColumnPolicy("town", type="text", domain=["a", "b"], null="a"),
        ColumnPolicy("wide", type="integer", domain=list(range(1_001)), null=0),
        ColumnPolicy("many", type="integer", domain=list(range(300)), null=0),
        ColumnPolicy("lots", type="integer", domain=list(range(300)), null=0),
    ]
    return Policy(
        Dataset("plain", FileSource((("t", "t.csv"),)), base=base),
        BudgetPolicy(100, "1e-3", default_delta="1e-6"),
        tables=[TablePolicy("t", "row", columns=columns)],
        analysts=[AnalystPolicy("ana", 100)],
    )


@pytest.mark.parametrize("name", list(BARE))
def test_a_column_without_a_domain_is_refused_with_the_line_to_add(tmp_path: Path, name: str) -> None:
    with tacit.open(plain(tmp_path), analyst="ana") as db:
        with pytest.raises(tacit.QueryRefused) as refused:
            BARE[name](db)
        assert "note" in str(refused.value)
        assert "add note = {" in str(refused.value.hint)
        assert "to [tables.t.columns]" in str(refused.value.hint)
        assert db.budget.total.spent.epsilon == 0


@pytest.mark.parametrize("name", list(WIDE))
def test_too_large_a_domain_says_its_cells_and_the_limit(tmp_path: Path, name: str) -> None:
    with tacit.open(plain(tmp_path), analyst="ana") as db:
        with pytest.raises(tacit.QueryRefused, match=r"ha(s|ve) [\d,]+ cells( together)?: at most [\d,]+ are counted"):
            WIDE[name](db)
        assert db.budget.total.spent.epsilon == 0


def test_long_lists_in_many_columns_are_refused_before_they_fill_memory(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(40)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n")
    columns = [ColumnPolicy(name, type="integer", domain=list(range(80)), null=0) for name in names]
    declared = Policy(
        Dataset("wide", FileSource((("t", "t.csv"),)), base=tmp_path),
        BudgetPolicy(100, "1e-3", default_delta="1e-6"),
        tables=[TablePolicy("t", "row", columns=columns)],
        analysts=[AnalystPolicy("ana", 100)],
    )
    with tacit.open(declared, analyst="ana") as db:
        with pytest.raises(
            tacit.QueryRefused, match="lists 3,200 values in 40 columns: with 820 marginals at most 3,048"
        ):
            db.synthesise("t", epsilon=1)
        assert db.budget.total.spent.epsilon == 0
