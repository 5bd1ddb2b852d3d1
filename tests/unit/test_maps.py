"""Heatmaps: squares that tile the map and add up, finer where there is more, and a page that says what they show."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.charges import overheard
from support.sources import Seeded
from support.synthetic import publisher
from support.tracks import Point, points, policy
from tacit.accounting import zcdp_to_dp
from tacit.core import Loss
from tacit.engines import one_state
from tacit.errors import EngineError, InvalidParameter, TacitError
from tacit.mechanisms import Gaussian
from tacit.noise import SYSTEM, IntArray, Source
from tacit.policy import BudgetPolicy
from tacit.release.maps import Heatmap, HeatmapRequest
from tacit.release.maps.quadtree import grown
from tacit.release.publishing import Publication
from tacit.release.synthesise.fitting.measuring import Meter


def drawn(
    base: Path, data: list[Point], *, epsilon: object = 1, depth: int = 5, source: Source = SYSTEM, **declared: object
) -> Publication[Heatmap]:
    made = policy(base, data, **declared)  # type: ignore[arg-type]
    with publisher(made, source) as door:
        return door.publish(HeatmapRequest("tracks", "x", "y", epsilon, depth=depth), made.analyst("ana"))  # type: ignore[arg-type]


def test_squares_tile_the_map_and_are_finer_where_there_is_more(tmp_path: Path) -> None:
    found = drawn(tmp_path, points(3_000), epsilon=4).value
    squares = list(found)
    assert sum(square.width * square.height for square in squares) == pytest.approx(
        float(found.widths[0] * found.widths[1]) * 4**found.depth
    )
    assert all(square.count >= 0 for square in squares)
    assert sum(square.count for square in squares) == found.total
    assert abs(found.total - 3_000) < 60
    crowd, corner = found.count(2.5, 1.5), found.count(7.9, 3.9)
    assert crowd.width < corner.width / 2
    assert crowd.seen
    assert found.density().sum() == pytest.approx(found.total)


def test_with_much_paid_the_map_is_the_truth(tmp_path: Path) -> None:
    data = points(2_000)
    found = drawn(tmp_path, data, epsilon=1_500, depth=3).value
    width, height = (float(each) for each in found.widths)
    true = np.zeros((8, 8))
    for _, x, y in data:
        true[int((float(str(y)) - float(found.starts[1])) // height), int(float(str(x)) // width)] += 1
    for square in found:
        row, column = round((square.y - float(found.starts[1])) / height), round(square.x / width)
        down, across = round(square.height / height), round(square.width / width)
        assert square.count == true[row : row + down, column : column + across].sum()


@pytest.mark.parametrize("data", [[], [(1, 3, 2)], [(1, None, None)], [(1, 900, -900)]])
@pytest.mark.parametrize("unit", ["row", "who"])
def test_an_empty_map_and_one_of_a_single_point_work(tmp_path: Path, data: list[Point], unit: str) -> None:
    found = drawn(tmp_path, data, unit=unit).value
    assert found.total >= 0
    found.write(tmp_path / "empty.html")
    found.write(tmp_path / "empty.png")


def test_errors_hold_and_half_of_them_would_not(tmp_path: Path) -> None:
    """40 maps. Squares that hold more than their error: at least 95 of 100 keep it."""
    data = points(2_000)
    made = policy(tmp_path, data)
    true = np.array([(float(str(x)), float(str(y))) for _, x, y in data]) + 1e-6  # no point lies on an edge
    kept, half = [], []
    with publisher(made) as door:
        plan = door.plan(HeatmapRequest("tracks", "x", "y", 2, depth=5))
        for run in range(40):
            with one_state(door.engine) as state:
                found = plan.read(state, Seeded(run))
            for square in found:
                inside = (true[:, 0] >= square.x) & (true[:, 0] < square.x + square.width)
                inside &= (true[:, 1] >= square.y) & (true[:, 1] < square.y + square.height)
                gap = abs(int(inside.sum()) - square.count)
                if inside.sum() > square.error:  # those near nothing are mostly held at nothing
                    kept.append(gap <= square.error)
                    half.append(gap <= square.error / 2)
    assert np.mean(kept) > 0.94 > np.mean(half)


@pytest.mark.parametrize("declared", [{}, {"unit": "who", "max_rows": 3}, {"adjacency": "replace"}])
@pytest.mark.parametrize("number", [0, 900])
def test_the_charge_is_the_price_of_the_noise_that_was_drawn(
    tmp_path: Path, declared: dict[str, object], number: int
) -> None:
    """However deep the tree grew: what deeper levels would have had goes to the last squares."""
    made = policy(tmp_path, points(number), **declared)  # type: ignore[arg-type]
    with overheard() as heard, publisher(made) as door:
        door.publish(HeatmapRequest("tracks", "x", "y", 1, "1e-6"), made.analyst("ana"))
    (paid,) = heard
    far = 3 * 1024 if "unit" in declared else 1  # rows of a unit are counted in parts of 1/1024
    drawn_rho = sum((Fraction(made.adjacency.steps * far**2) / (2 * each.sigma**2) for each in paid.drawn), Fraction(0))
    assert paid.charge.zcdp is not None
    assert paid.charge.zcdp.rho * (1 - Fraction(1, 10**6)) < drawn_rho <= paid.charge.zcdp.rho
    assert zcdp_to_dp(paid.charge.zcdp.rho, "1e-6").epsilon <= 1


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=60), st.integers(0, 2**32))
def test_one_row_moves_each_measurement_of_the_same_squares_by_one(cells: list[tuple[int, int]], seed: int) -> None:
    """A neighbour that happens to be given the same squares: levels one by one, and the last ones of all together."""
    grid: IntArray = np.zeros((8, 8), dtype=np.int64)
    np.add.at(grid, tuple(np.array(cells).T), 40)
    moved = grid.copy()
    moved[cells[0]] -= 1
    seen = []
    for data in (grid, moved):
        tables: dict[tuple[int, ...], IntArray] = {}
        meter = Meter(tables.__getitem__, 1, Fraction(1), source=Seeded(seed))
        with patch.object(Gaussian, "release", lambda _, values, __: np.rint(values / 40) * 40):  # no noise, alike
            grown(meter, data, tables, depth=3)
        seen.append(tables)
    assert seen[0].keys() == seen[1].keys()
    for name, counts in seen[0].items():
        assert int(np.abs(counts - seen[1][name]).sum()) == 1


def test_equal_noisy_numbers_give_equal_maps_whatever_the_data_hold(tmp_path: Path) -> None:
    """Which squares are split, and what becomes of their counts, is decided by noisy numbers alone."""

    def told(_: Gaussian, values: IntArray, __: object = None) -> IntArray:
        return np.random.default_rng(np.size(values)).integers(-60, 400, np.size(values))

    with patch.object(Gaussian, "release", told):
        found = [drawn(tmp_path, data).value.to_bytes() for data in ([], points(4_000), [(1, 7.5, 3.5)] * 900)]
    assert found[0] == found[1] == found[2]


def test_a_group_is_promised_less_the_larger_it_is(tmp_path: Path) -> None:
    found = drawn(tmp_path, points(500)).value
    assert found.group(1) == zcdp_to_dp(found.rho, "1e-6")
    assert float(found.group(1).epsilon) <= 1
    assert found.group(50) == zcdp_to_dp(found.rho * 2_500, "1e-6")
    assert found.group(2).epsilon < found.group(50).epsilon
    for wrong in (0, -1, True, 1.5, 10**9):
        with pytest.raises(InvalidParameter, match="a group"):
            found.group(wrong)  # type: ignore[arg-type]


def test_the_page_says_what_is_not_hidden_and_fetches_nothing(tmp_path: Path) -> None:
    found = drawn(tmp_path, points(900)).value
    found.write(tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text()
    assert 'class="key"' in text, "a legend of its colours"
    assert "rows in a square as small as the smallest" in text
    assert "What is not hidden" in text
    assert "military bases" in text
    assert f"{found.visible:,} rows" in text
    assert text.count("<rect") == len(found)
    assert "http" not in text.replace("http-equiv", "")
    assert "SECRET" not in text
    found.write(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    found.write(tmp_path / "map.csv")
    assert len((tmp_path / "map.csv").read_text().splitlines()) == len(found) + 1
    for name in ("map.csv", "map.gif", "no/map.png"):
        with pytest.raises(InvalidParameter):
            found.write(tmp_path / name)


def test_a_crowd_where_nobody_else_is_shows(tmp_path: Path) -> None:
    """The base: each of them is hidden, what they have in common is not."""
    base: list[Point] = [(10_000 + i, 7.5, 3.5) for i in range(400)]
    found = drawn(tmp_path, points(3_000) + base, epsilon=2).value
    assert found.visible < 400
    assert found.count(7.5, 3.5).seen


def test_the_same_map_is_free_and_the_bytes_are_the_same(tmp_path: Path) -> None:
    made = policy(tmp_path, points(300))
    with publisher(made) as door:
        first = door.publish(HeatmapRequest("tracks", "x", "y", 1), made.analyst("ana"))
        again = door.publish(HeatmapRequest("tracks", "x", "y", "0.5"), made.analyst("ben"))
        finer = door.publish(HeatmapRequest("tracks", "x", "y", 1, depth=4), made.analyst("ana"))
    assert (again.cost, again.reused, again.entry) == (Loss(0), True, first.entry)
    assert again.value.to_bytes() == first.value.to_bytes()
    assert not finer.reused
    assert repr(again.value) == repr(first.value)
    with pytest.raises(InvalidParameter, match="no heatmap"):
        Heatmap.from_bytes(b"")


WRONG: list[tuple[dict[str, object], str, str]] = [
    ({"table": "none"}, "unknown table", ""),
    ({"x": "who"}, "has no bounds", 'add who = { type = "number", lower = …, upper = … } to [tables.tracks.columns]'),
    ({"x": "free"}, "has no bounds", ""),
    ({"x": "mode"}, "has no bounds", ""),
    ({"x": "y"}, "named twice", ""),
    ({"depth": 0}, "1 to 10", ""),
    ({"depth": 11}, "1 to 10", ""),
    ({"depth": "six"}, "1 to 10", ""),
    ({"epsilon": 0}, "epsilon", ""),
    ({"delta": 0}, "delta", ""),
    ({"epsilon": "1e-30", "delta": "1e-30"}, "", ""),
]


@pytest.mark.parametrize(("asked", "what", "hint"), WRONG)
def test_what_makes_no_sense_is_refused_and_costs_nothing(
    tmp_path: Path, asked: dict[str, object], what: str, hint: str
) -> None:
    made = policy(tmp_path, points(9))
    wish = {"table": "tracks", "x": "x", "y": "y", "epsilon": 1, **asked}
    with publisher(made) as door:
        with pytest.raises(TacitError) as refused:
            door.publish(HeatmapRequest(**wish), made.analyst("ana"))  # type: ignore[arg-type]
        assert what in str(refused.value)
        assert hint in refused.value.hint
        assert all(entry.act == "open" for entry in door.ledger.entries(limit=9))


def test_what_fails_while_counting_stays_charged_and_tells_nothing(tmp_path: Path) -> None:
    broken = patch("tacit.release.synthesise.counting.execute", side_effect=ValueError("SECRET"))
    with broken, pytest.raises(EngineError, match="the heatmap could not be computed"):
        drawn(tmp_path, points(9))
    with pytest.raises(TacitError, match="pure"):
        drawn(tmp_path, points(9), budget=BudgetPolicy(5))
