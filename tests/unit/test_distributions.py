"""Histograms, ranges and shares below a value: of one piece, with errors that hold, and drawn with them."""

from __future__ import annotations

import itertools
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from support.sources import Seeded
from support.synthetic import publisher
from support.tracks import Point, points, policy
from tacit.core import Loss
from tacit.engines import one_state
from tacit.errors import InvalidParameter, TacitError
from tacit.policy import ColumnType
from tacit.release.distributions import Distribution, DistributionRequest
from tacit.release.distributions.distribution import Estimated, covariance, fan_out
from tacit.release.distributions.request import best_fans
from tacit.release.hierarchies.least_squares import fitted_levels
from tacit.release.synthesise.columns import Attribute


def found_of(base: Path, data: list[Point], *, column: str = "x", epsilon: object = 1, **asked: object) -> Distribution:
    made = policy(base, data)
    with publisher(made) as door:
        return door.publish(DistributionRequest("tracks", column, epsilon, **asked), made.analyst("ana")).value  # type: ignore[arg-type]


def test_everything_is_a_sum_of_the_same_bins(tmp_path: Path) -> None:
    found = found_of(tmp_path, points(2_000))
    assert found.counts.min() >= 0
    assert float(found.total) == found.counts.sum()
    assert abs(float(found.total) - 2_000) <= found.total.error + 20
    shares = [share for _, share, _ in found.cdf()]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert float(found.range(0, 4)) + float(found.range(4, 8.01)) == float(found.total)
    assert float(found.range(3, 3)) == found.range(3, 3).error == 0
    middle, low, high = found.quantile(0.5)
    assert low <= middle <= high
    assert abs(middle - 2.5) < 0.5
    assert found.quantile(1)[0] == found.cdf()[-1][0] or found.quantile(1)[0] <= found.cdf()[-1][0]


def test_with_much_paid_the_histogram_is_the_truth(tmp_path: Path) -> None:
    data = points(1_000)
    found = found_of(tmp_path, data, epsilon=1_500, bins=16)
    assert len(found.counts) <= 16
    edges = [*found.bins, 99.0]
    true, _ = np.histogram([float(str(x)) for _, x, _ in data], bins=edges)
    assert found.counts.tolist() == true.tolist()


def test_texts_and_dates_have_histograms_too(tmp_path: Path) -> None:
    modes = found_of(tmp_path, points(300), column="mode", epsilon=9)
    assert modes.bins == ["run", "ride"]
    assert modes.fans == ()
    assert abs(int(modes.counts[0]) - 300) < 30
    with pytest.raises(InvalidParameter, match="no order"):
        modes.cdf()
    days = found_of(tmp_path, points(300), column="day", epsilon=9)
    assert abs(float(days.range(date(2024, 1, 15), date(2024, 1, 16))) - 300) < 30
    assert days.quantile(0.5)[0] == date(2024, 1, 16)


@pytest.mark.parametrize("data", [[], [(1, 3, 2)], [(1, None, None)]])
def test_an_empty_table_and_one_of_a_single_row_work(tmp_path: Path, data: list[Point]) -> None:
    found = found_of(tmp_path, data)
    assert found.counts.min() >= 0
    assert len(found.cdf()) == len(found.counts)
    assert found_of(tmp_path, data, bins=2, fresh=True).counts.size == 2


def test_errors_of_bins_ranges_and_shares_hold_and_half_of_them_would_not(tmp_path: Path) -> None:
    """60 runs. Ranges of one run hang together, so the bar is low: 90 of 100 for what should be 95."""
    data = points(4_000)
    made = policy(tmp_path, data)
    true = np.array([float(str(x)) for _, x, _ in data])
    kept, half = [], []
    with publisher(made) as door:
        plan = door.plan(DistributionRequest("tracks", "x", 1, bins=32))
        for run in range(60):
            with one_state(door.engine) as state:
                found = plan.read(state, Seeded(run))
            edges = [*found.bins, 99.0]
            for low, high in ((2.0, 3.0), (0.5, 4.25), (2.25, 8.0), (0.0, 2.5)):
                first, last = (int(np.abs(np.array(edges[:-1]) - end).argmin()) for end in (low, high))
                answer = found.range(edges[first], edges[last])
                gap = abs(int(((true >= edges[first]) & (true < edges[last])).sum()) - float(answer))
                kept.append(gap <= answer.error)
                half.append(gap <= (answer.error - 1) / 2)
            for place in (9, 10, 11):
                edge, share, error = found.cdf()[place]
                gap = abs(float((true < edge).mean()) - share)
                kept.append(gap <= error)
                half.append(gap <= error / 2)
    assert np.mean(kept) > 0.9 > np.mean(half)


def test_the_error_of_a_range_that_ends_within_bins_holds_what_nobody_knows_of_them(tmp_path: Path) -> None:
    """60 runs of six ranges over few bins: noise is as nothing beside the rows between an end and its edge."""
    data = points(4_000)
    made = policy(tmp_path, data)
    true = np.array([float(str(x)) for _, x, _ in data])
    kept, noise_alone = [], []
    with publisher(made) as door:
        plan = door.plan(DistributionRequest("tracks", "x", 4, bins=8))
        for run in range(60):
            with one_state(door.engine) as state:
                found = plan.read(state, Seeded(run))
            edge = found.bins[3]
            for low, high in ((2.2, 2.9), (0.3, 4.1), (2.45, 2.46), (-5, 2.6), (2.6, 1e9), (edge, edge + 0.01)):
                answer = found.range(low, high)
                gap = abs(int(((true >= low) & (true < high)).sum()) - float(answer))
                kept.append(gap <= answer.error)
                noise_alone.append(gap <= found.range(*_nearest_edges(found, low, high)).error)
            assert found.range(2.46, 2.46) == Estimated(0, 0.0)
    assert np.mean(kept) > 0.95
    assert np.mean(noise_alone) < 0.8


def _nearest_edges(found: Distribution, low: float, high: float) -> tuple[float, float]:
    edges = [line[0] for line in found.cdf()]
    edges = [found.bins[0], *edges]
    first, last = (min(edges, key=lambda edge, end=end: abs(edge - end)) for end in (low, high))
    return first, last


@pytest.mark.parametrize("bins", [8, 51, 100])
def test_the_covariance_is_that_of_the_estimates(bins: int) -> None:
    """Least squares are linear: what each measurement's noise does to the estimates squares up to it."""
    fans = fan_out(bins, 3)
    variances = [float(2 + level) for level in range(len(fans) + 1)]
    parents, sizes = [], [bins]
    for fan in fans:
        parents.insert(0, np.arange(sizes[0]) // fan)
        sizes.insert(0, int(parents[0].max()) + 1)
    columns = []
    for level, size in enumerate(sizes):
        for place in range(size):
            measured = [np.zeros((1, 1)), *(np.zeros((each, 1)) for each in sizes)]
            measured[level + 1][place] = np.sqrt(variances[level])
            top = np.zeros(sizes[0], dtype=np.int64)
            columns.append(fitted_levels([top, *parents], measured, [np.inf, *variances]).values[-1][:, 0])
    law = np.array(columns).T
    assert np.allclose(law @ law.T, covariance(bins, fans, variances))


def test_the_tree_is_chosen_by_the_number_of_bins_alone_and_beats_none() -> None:
    assert best_fans(4) == ()
    for bins in (64, 512):
        fans = best_fans(bins)
        flat = covariance(bins, (), (1.0,))
        tree = covariance(bins, fans, (len(fans) + 1.0,) * (len(fans) + 1))
        below = [float(np.mean(np.diag(np.cumsum(np.cumsum(each, 0), 1)))) for each in (flat, tree)]
        assert below[1] < below[0] / (1.5 if bins == 64 else 5)


def test_the_same_histogram_is_free_and_the_bytes_are_the_same(tmp_path: Path) -> None:
    made = policy(tmp_path, points(300))
    with publisher(made) as door:
        first = door.publish(DistributionRequest("tracks", "x", 1), made.analyst("ana"))
        again = door.publish(DistributionRequest("tracks", "x", "0.5"), made.analyst("ben"))
        other = door.publish(DistributionRequest("tracks", "x", 1, bins=10), made.analyst("ana"))
    assert (again.cost, again.reused, other.reused) == (Loss(0), True, False)
    assert again.value.to_bytes() == first.value.to_bytes()
    with pytest.raises(InvalidParameter, match="no histogram"):
        Distribution.from_bytes(b"x")


def test_names_of_listed_values_never_run_into_each_other() -> None:
    values = tuple(f"a town of some name, {number}" for number in range(40))
    town = Attribute("town", ColumnType.TEXT, ordered=False, nullable=False, values=values)
    counts = np.arange(40)
    found = Distribution("t", town, counts, counts.astype(float), (), (4.0,), Loss(1, "1e-6"), Fraction(1))
    (axes,) = found.plot().axes
    axes.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert len(boxes) == 40
    assert not any(one.overlaps(two) for one, two in itertools.pairwise(boxes))
    assert any(type(each).__name__ == "ErrorbarContainer" for each in axes.containers)


def test_pictures_have_their_errors(tmp_path: Path) -> None:
    found = found_of(tmp_path, points(500))
    bars, curve = found.plot(), found.plot("cdf")
    assert "95%" in bars.axes[0].get_title()
    assert len(bars.axes[0].patches) == len(found.counts)
    assert any(type(each).__name__ == "ErrorbarContainer" for each in bars.axes[0].containers)
    assert len(curve.axes[0].collections) == 1, "the band"
    line = curve.axes[0].lines[0]
    assert (line.get_xdata()[0], line.get_ydata()[0]) == (found.bins[0], 0), "it begins where the bins do"
    with pytest.raises(InvalidParameter, match="no picture"):
        found.plot("pie")
    assert repr(found).startswith("<histogram of tracks.x")
    with pytest.raises(InvalidParameter, match="end of a range"):
        found.range("here", 4)
    with pytest.raises(InvalidParameter, match="ends where it begins"):
        found.range(4, 2)
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        found.quantile(1.5)


WRONG: list[tuple[dict[str, object], str]] = [
    ({"column": "none"}, "unknown column"),
    ({"column": "free"}, "no public domain"),
    ({"column": "who"}, "no public domain"),
    ({"column": "mode", "bins": 4}, "has no bounds"),
    ({"bins": 1}, "2 to 1,024"),
    ({"bins": 2_000}, "2 to 1,024"),
    ({"bins": True}, "2 to 1,024"),
    ({"epsilon": 0}, "epsilon"),
    ({"epsilon": "1e-30", "delta": "1e-30"}, ""),
]


@pytest.mark.parametrize(("asked", "what"), WRONG)
def test_what_makes_no_sense_is_refused_and_costs_nothing(tmp_path: Path, asked: dict[str, object], what: str) -> None:
    made = policy(tmp_path, points(9))
    wish = {"table": "tracks", "column": "x", "epsilon": 1, **asked}
    with publisher(made) as door:
        with pytest.raises(TacitError) as refused:
            door.publish(DistributionRequest(**wish), made.analyst("ana"))  # type: ignore[arg-type]
        assert what in str(refused.value)
        assert "SECRET" not in str(refused.value)
        assert all(entry.act == "open" for entry in door.ledger.entries(limit=9))
