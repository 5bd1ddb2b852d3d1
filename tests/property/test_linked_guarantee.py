"""Linked synthetic tables promise: a patient with all visits moves no marginal further than is said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.linked import Patient, Visit, clinic, policy, publisher
from support.sources import Seeded
from support.synthetic import opened
from tacit.engines import one_state
from tacit.errors import EngineError
from tacit.mechanisms import Exponential, Gaussian
from tacit.noise import IntArray
from tacit.release.linked import LinkedPlan, LinkedRequest, plan_linked
from tacit.release.synthesise.counting import MarginalCounter
from tacit.release.synthesise.fitting.measuring import Meter, NoisyMarginal

REQUEST = LinkedRequest(("patients", "visits"), 1)
QUIET = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
PATIENTS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["f", "m", "x", None]), st.sampled_from([0, 4, 9, 400, None])),
    max_size=5,  # an id may be there twice: that it is a key is nothing that privacy rests on
)
VISITS = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0, 1, 2, 3, 7, None]),  # 7 is no patient
        st.sampled_from(["a", "b", "elsewhere", None]),
        st.sampled_from([0, 5, -3, None]),
    ),
    max_size=14,
)
PLANS: dict[int, LinkedPlan] = {}  # by max_rows: whatever the data hold, they are the same, as is tested below
Marginals = dict[tuple[str, tuple[int, ...]], IntArray]


def marginals(
    base: Path, patients: Sequence[Patient], visits: Sequence[Visit], *, max_rows: int
) -> tuple[Marginals, dict[str, int]]:
    """Every exact marginal of both tables, and how far one unit is said to move those of each."""
    declared = policy(base, patients, visits, max_rows=max_rows)
    found: Marginals = {}
    with opened(declared) as (engine, _), one_state(engine) as state:
        plan = PLANS.get(max_rows) or plan_linked(declared, engine, REQUEST)
        PLANS[max_rows] = plan
        for table in plan.tables:
            counter = MarginalCounter(table.counted, state)
            found |= {(table.counted.table, axes): counter(axes) for axes in table.counted.plans}
        return found, {table.counted.table: table.counted.sensitivity for table in plan.tables}


def of_unit(unit: object, rows: Sequence[tuple[object, ...]], *, alone: bool) -> list[tuple[object, ...]]:
    """The rows of one unit, or all the others."""
    return [row for row in rows if (row[0] == unit) is alone]


@QUIET
@given(patients=PATIENTS, visits=VISITS, max_rows=st.integers(1, 3))
def test_a_patient_with_all_visits_moves_no_marginal_further_than_is_said(
    tmp_path: Path, patients: list[Patient], visits: list[Visit], max_rows: int
) -> None:
    whole, said = marginals(tmp_path, patients, visits, max_rows=max_rows)
    assert said == {"patients": 1024, "visits": 1024 * max_rows}
    for unit in {row[0] for row in (*patients, *visits)}:
        rest = [of_unit(unit, rows, alone=False) for rows in (patients, visits)]
        without, _ = marginals(tmp_path, rest[0], rest[1], max_rows=max_rows)  # type: ignore[arg-type]
        for (table, axes), counts in whole.items():
            moved = counts - without[table, axes]
            assert (moved >= 0).all()  # what a unit brings is not negative: replaced, it moves √2 times as far in L2
            assert int(moved.sum()) <= said[table], (unit, table, axes)


@QUIET
@given(patients=PATIENTS, visits=VISITS)
def test_what_one_patient_brings_depends_on_nobody_else(
    tmp_path: Path, patients: list[Patient], visits: list[Visit]
) -> None:
    """Byte for byte: the whole is what is left without a patient, and that patient alone."""
    whole, _ = marginals(tmp_path, patients, visits, max_rows=2)
    parts = []
    for alone in (True, False):
        some = [of_unit(0, rows, alone=alone) for rows in (patients, visits)]
        parts.append(marginals(tmp_path, some[0], some[1], max_rows=2)[0])  # type: ignore[arg-type]
    for key, counts in whole.items():
        assert counts.tobytes() == (parts[0][key] + parts[1][key]).tobytes(), key


def test_a_patient_above_the_cap_counts_as_one_at_it(tmp_path: Path) -> None:
    patients: list[Patient] = [(1, "f", 3), (2, "m", 5)]
    visits: list[Visit] = [(1, "a", 1)] * 5 + [(1, "b", 2)] * 5 + [(2, "c", 4)]
    found, said = marginals(tmp_path, patients, visits, max_rows=4)
    assert said == {"patients": 1024, "visits": 4096}
    assert found["visits", (0,)].tolist() == [2048, 2048, 1024, 0]  # ten visits weigh four
    assert found["patients", (2,)].tolist() == [0, 1024, 0, 0, 1024]  # one patient with one, one with four
    longest = found["visits", (0, 4)]  # wards, by the number of visits: that is at most four, too
    assert longest[:, 4].tolist() == [2048, 2048, 0, 0]


def test_visits_of_nobody_are_in_no_marginal(tmp_path: Path) -> None:
    """Whose patient is not there, and whose key is empty."""
    patients, visits = clinic(12)
    whole, _ = marginals(tmp_path, patients, visits, max_rows=3)
    lost: list[Visit] = [(99, "a", 1), (None, "b", 2), (99, "b", 9)]
    strayed, _ = marginals(tmp_path, patients, [*visits, *lost], max_rows=3)
    nobody: list[Patient] = [(None, "f", 3)]
    unnamed, _ = marginals(tmp_path, [*patients, *nobody], [*visits, *lost], max_rows=3)
    for key, counts in whole.items():
        assert counts.tobytes() == strayed[key].tobytes() == unnamed[key].tobytes()


def test_a_patient_without_visits_is_a_patient_with_none(tmp_path: Path) -> None:
    found, _ = marginals(tmp_path, [(1, "f", 3)], [], max_rows=2)
    assert found["patients", (2,)].tolist() == [1024, 0, 0]
    assert not any(counts.any() for (table, _), counts in found.items() if table == "visits")


def test_a_cap_that_is_not_kept_would_be_noticed(tmp_path: Path) -> None:
    """The same look at visits that all count, beside what is said of two."""
    patients: list[Patient] = [(1, "f", 3)]
    visits: list[Visit] = [(1, "a", 1)] * 9
    _, said = marginals(tmp_path, patients, visits, max_rows=2)
    all_of_them, _ = marginals(tmp_path, patients, visits, max_rows=9)
    assert max(int(counts.sum()) for (table, _), counts in all_of_them.items() if table == "visits") > said["visits"]


@QUIET
@given(patients=PATIENTS, visits=VISITS)
def test_the_plan_is_the_same_whatever_the_data_hold(
    tmp_path: Path, patients: list[Patient], visits: list[Visit]
) -> None:
    plans = []
    for held in ((patients, visits), clinic(3)):
        declared = policy(tmp_path, *held)
        with opened(declared) as (engine, _):
            plan = plan_linked(declared, engine, REQUEST)
            plans.append((plan.shape, plan.said, plan.method, [table.counted.attributes for table in plan.tables]))
    assert plans[0] == plans[1]


def models_of_equal_noise(base: Path, method: str) -> list[bytes]:
    """The models of no rows and of sixty patients, where noisy numbers and private choices are the same for both."""

    def told(_: Gaussian, values: IntArray, __: object = None) -> IntArray:
        return np.random.default_rng(np.size(values)).integers(-60_000, 400_000, np.size(values))

    found = []
    with patch.object(Gaussian, "release", told), patch.object(Exponential, "release", lambda *_: 0):
        for held in (([], []), clinic(60)):
            declared = policy(base, *held)
            with publisher(declared, Seeded(3)) as door:
                wish = LinkedRequest(("patients", "visits"), 1, "1e-6", method=method, fresh=True)
                found.append(door.publish(wish, declared.analyst("ana")).value.to_bytes())
    return found


@pytest.mark.parametrize("method", ["tree", "mst"])
def test_equal_noisy_numbers_give_equal_models_whatever_the_data_hold(tmp_path: Path, method: str) -> None:
    one, other = models_of_equal_noise(tmp_path, method)
    assert one == other


HONEST = Meter.measure


def empty_cells_stay_empty(self: Meter, axes: tuple[int, ...], *args: object) -> NoisyMarginal:
    """The planted bug: what no visit has is shown to be so; patients are left in peace."""
    found = HONEST(self, axes, *args)  # type: ignore[arg-type]
    exact = self.exact(axes)
    visits = self.exact.plan.table == "visits"  # type: ignore[attr-defined]
    same = visits and exact.shape == found.counts.shape
    return NoisyMarginal(axes, np.where(exact == 0, 0, found.counts) if same else found.counts, found.sigma)


def test_a_model_of_visits_that_looks_past_the_noise_is_noticed(tmp_path: Path) -> None:
    with patch.object(Meter, "measure", empty_cells_stay_empty):
        one, other = models_of_equal_noise(tmp_path, "tree")
    assert one != other


def test_noise_of_nine_tenths_would_be_noticed(tmp_path: Path) -> None:
    honest = Gaussian.concentrated

    def smaller(rho: object, sensitivity: object, *, delta: object) -> Gaussian:
        noise = honest(rho, sensitivity, delta=delta)  # type: ignore[arg-type]
        return Gaussian(noise.sigma * 9 / 10, delta)  # type: ignore[arg-type]

    declared = policy(tmp_path, *clinic(10))
    with (
        publisher(declared, Seeded(3)) as door,
        patch.object(Gaussian, "concentrated", smaller),
        pytest.raises(EngineError, match="beyond what was paid"),
    ):
        door.publish(REQUEST, declared.analyst("ana"))
