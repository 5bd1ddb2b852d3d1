"""Local recoding by what the hierarchy itself loses, and how leftover rows find a class."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tacit.release.anonymise import Bands, Hierarchy, Tree, anonymise, load_tree
from tacit.release.anonymise.methods import recoding
from tacit.release.anonymise.methods.joining import joined
from tacit.release.anonymise.methods.recoding import local
from tacit.release.anonymise.models.family import KAnonymity, Rules
from tacit.release.anonymise.values.tuples import Tuples, whole

pd = pytest.importorskip("pandas")
LANDS = {f"c{i}": (f"land {i // 6}",) for i in range(24)}
JOBS = {f"j{i}": (f"trade {i // 2}", f"field {i // 6}") for i in range(12)}
LEVELS: dict[str, Hierarchy] = {
    "age": Bands((5, 10, 20)),
    "born": Tree(LANDS),
    "job": Tree(JOBS),
    "sex": Tree({"f": (), "m": ()}),
}
QUASI = list(LEVELS)


def people(rows: int = 3000) -> pd.DataFrame:
    """Skewed as people are: most were born in one place, and a few anywhere."""
    rng = np.random.default_rng(11)
    born = np.where(rng.random(rows) < 0.85, 0, rng.integers(0, 24, rows))
    job = np.minimum(rng.geometric(0.25, rows) - 1, 11)
    return pd.DataFrame(
        {
            "age": np.clip(rng.normal(40, 14, rows), 17, 90).astype(int),
            "born": [f"c{i}" for i in born],
            "job": [f"j{i}" for i in job],
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(["no", "flu", "gout"], rows),
        }
    )


def loss(method: str, k: int) -> float:
    return anonymise(people(), QUASI, k=k, method=method, hierarchies=LEVELS).report.utility.ncp


@pytest.mark.parametrize("k", [5, 10, 50])
def test_climbing_the_trees_loses_far_less_than_one_level_for_all(k: int) -> None:
    """Going down from `*` lost 0.055, 0.098 and 0.221 of a cell here, and cuts along the order 0.095, 0.154, 0.298."""
    climbed = loss("local", k)
    assert climbed < 0.75 * loss("optimal", k)
    assert climbed < {5: 0.045, 10: 0.075, 50: 0.19}[k]
    assert loss("greedy", k) <= climbed + 1e-12


@pytest.mark.parametrize("method", ["local", "greedy"])
def test_every_cell_is_a_group_of_its_tree(method: str) -> None:
    rows = anonymise(people(), QUASI, k=10, method=method, hierarchies=LEVELS).rows(limit=3000)[1]
    assert {row[1] for row in rows} <= {*LANDS, *(path[0] for path in LANDS.values()), "*"}
    assert {row[3] for row in rows} <= {"f", "m", "*"}
    assert min(Counter(rows).values()) >= 10


def test_a_column_without_a_hierarchy_is_cut_into_intervals_beside_trees() -> None:
    levels = {name: LEVELS[name] for name in ("born", "job")}
    found = anonymise(people(), QUASI, k=10, method="local", hierarchies=levels).report
    assert found.utility.columns[0].ncp < 0.25, "its values and `*` alone would lose far more"


def test_a_tree_file_of_values_and_a_star_is_a_tree(tmp_path: object) -> None:
    path = tmp_path / "sex.csv"  # type: ignore[operator]
    path.write_text("Male;*\nFemale;*\n")
    assert load_tree(path) == Tree({"Male": (), "Female": ()})


@pytest.mark.parametrize("asked", [{"l": 3}, {"t": 0.15}, {"l": 2.5, "diversity": "entropy"}, {"beta": 0.4}])
def test_rows_left_over_join_others_until_every_model_holds(asked: dict[str, object]) -> None:
    table = people(600)
    table.loc[table.index[:40], "ill"] = "rare"
    for method in ("local", "greedy"):
        result = anonymise(table, QUASI, k=8, sensitive="ill", method=method, hierarchies=LEVELS, **asked)
        assert len(result.rows(limit=999)[1]) == 600
        assert result.report.utility.classes > 1


def test_what_is_left_when_the_work_is_done_is_cut_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recoding, "WORK", 5_000)
    result = anonymise(people(), QUASI, k=5, method="local", hierarchies=LEVELS)
    assert result.report.risk_after.smallest >= 5
    assert result.report.utility.ncp < 0.5


def _one_column(sizes: list[int]) -> Tuples:
    return Tuples(np.arange(len(sizes), dtype=np.int32)[None], np.array(sizes), None, ())


def test_somebody_left_over_joins_the_nearest_class() -> None:
    from tacit.release.anonymise.values.coding import column

    tuples = _one_column([5, 5, 1, 5, 5])
    made, _ = column("c", [0, 50, 60, 99, 100], counts=tuples.size, hierarchy=None)
    classes = joined(tuples, [made], np.array([0, 1, -1, 2, 2]), rules=Rules((KAnonymity(5),), whole(tuples)))
    assert classes.tolist() == [0, 1, 1, 2, 2]


def test_a_table_smaller_than_any_group_is_one_class() -> None:
    from tacit.release.anonymise.values.coding import column

    tuples = _one_column([1, 1, 1])
    made, _ = column("c", ["a", "b", "c"], counts=tuples.size, hierarchy=Tree(dict.fromkeys("abc", ())))
    found = local(tuples, [made], rules=Rules((KAnonymity(3),), whole(tuples)), progress=lambda _: None)
    assert found.classes.tolist() == [0, 0, 0]
    assert found.cells[0].text() == ["*"]
