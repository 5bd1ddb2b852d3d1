"""Pictures of answers: every aggregate, lines over time, labels that can be read, and no key that breaks them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from datetime import date, datetime

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

from support.releases import release
from tacit.curator.forms.shape import ColumnShape
from tacit.errors import InvalidParameter


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    mpl.use("Agg")
    yield
    pyplot.close("all")


def labels(axes, *, lying=False):
    axes.figure.canvas.draw()
    return [label.get_text() for label in (axes.get_yticklabels() if lying else axes.get_xticklabels())]


def widths(axes):
    """The half-widths of the error bars that stand."""
    return [(line[1][1] - line[0][1]) / 2 for part in axes.collections for line in part.get_segments()]


def test_every_aggregate_has_a_picture_of_its_own():
    made = release((("a", 3, 0.5), ("b", 5, 0.25)), columns=("ward", "n", "cost"))
    figure = made.plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["n", "cost"]
    assert [[bar.get_height() for bar in axes.patches] for axes in figure.axes] == [[3, 5], [0.5, 0.25]]
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "ward"]


def test_a_column_that_is_neither_key_nor_measured_is_drawn_where_it_is_named_only():
    """GROUPING() says which rows are totals."""
    shapes = (ColumnShape("text", noisy=False), ColumnShape("integer", noisy=False), ColumnShape("integer", noisy=True))
    made = release(
        (("a", 0, 3), (None, 1, 5)),
        errors=((None, None, 1.0), (None, None, 2.0)),
        columns=("ward", "total", "n"),
        shapes=shapes,
        keys=(0,),
    )
    assert [axes.get_ylabel() for axes in made.plot().axes] == ["n"]
    assert [axes.get_ylabel() for axes in made.plot("total").axes] == ["total"]


def test_bars_have_their_keys_and_their_error_bars():
    (axes,) = release((("a", 3), ("b", 5)), errors=((None, 1.0), (None, 0.5))).plot().axes
    assert labels(axes) == ["a", "b"]
    assert widths(axes) == [1.0, 0.5]


def test_one_column_is_drawn_where_it_is_named_and_into_given_axes():
    made = release((("a", 3, 0.5), ("b", 5, 0.25)), columns=("ward", "n", "cost"))
    own = pyplot.figure().add_subplot()
    assert made.plot("cost", ax=own) is own.figure
    assert own.get_ylabel() == "cost"
    with pytest.raises(InvalidParameter, match="does not hold 2"):
        made.plot(ax=own)
    with pytest.raises(InvalidParameter, match="no column 'pay'"):
        made.plot("pay")


def test_dates_are_lines_in_order_with_a_band_around_them():
    days = [date(2024, 3, 1), date(2024, 1, 1), date(2024, 2, 1)]
    (axes,) = release(tuple((day, place) for place, day in enumerate(days))).plot().axes
    (line,) = axes.lines
    assert line.get_ydata().tolist() == [1, 2, 0]
    band = axes.collections[0].get_paths()[0].vertices
    assert np.isclose(band[:, 1].max(), 2 + 1.5)
    assert np.isclose(band[:, 1].min(), 0 - 1.5)
    assert not list(axes.patches)


def test_a_second_key_makes_one_line_each_and_a_legend():
    times = [datetime.fromisoformat(f"2024-01-01T0{hour}:00:00") for hour in range(3)]
    rows = tuple((ward, time, 1) for time in times for ward in ("a", "_b"))
    errors = ((None, None, 1.5),) * len(rows)
    (axes,) = release(rows, errors=errors, columns=("ward", "at", "n")).plot().axes
    assert len(axes.lines) == 2
    legend = axes.get_legend()
    assert [text.get_text().strip("\u200b") for text in legend.get_texts()] == ["a", "_b"]
    assert legend.get_title().get_text() == "ward"
    assert axes.get_xlabel() == "at"


def test_the_total_over_all_days_is_no_point_of_the_line():
    rows = ((date(2024, 1, 1), 4), (date(2024, 1, 2), 5), (None, 9))
    (axes,) = release(rows).plot().axes
    assert axes.lines[0].get_ydata().tolist() == [4, 5]


def test_two_keys_stand_beside_each_other():
    rows = tuple((dept, sex, 1 + len(dept)) for dept in ("CS", "Econ") for sex in ("f", "m", None))
    (axes,) = release(rows, errors=((None, None, 0.5),) * 6, columns=("dept", "sex", "n")).plot().axes
    assert len(axes.patches) == 6
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["f", "m", "–"]
    assert labels(axes) == ["CS", "Econ"]


def test_many_or_long_keys_lie_so_that_they_can_be_read():
    keys = [f"a rather long name of a town, number {number}" for number in range(12)]
    figure = release(tuple((key, number) for number, key in enumerate(keys))).plot()
    (axes,) = figure.axes
    shown = labels(axes, lying=True)
    assert len(set(shown)) == 12, "shortened names still differ"
    assert max(map(len, shown)) <= 32
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert not any(one.overlaps(two) for one, two in itertools.pairwise(boxes))


def test_labels_never_run_into_each_other_however_many_there_are():
    for count in (1, 5, 9, 80, 500):
        (axes,) = release(tuple((f"town {number}", number) for number in range(count))).plot().axes
        axes.figure.canvas.draw()
        upright = axes.get_xlabel() == "key"
        ticks = axes.get_xticklabels() if upright else axes.get_yticklabels()
        boxes = [label.get_window_extent() for label in ticks]
        assert not any(one.overlaps(two) for one, two in itertools.pairwise(boxes)), count


def test_a_number_is_an_axis_of_numbers():
    (axes,) = release(tuple((age, 100 - age) for age in range(18, 90))).plot().axes
    assert len(labels(axes)) < 20
    assert axes.patches[0].get_x() + axes.patches[0].get_width() / 2 == pytest.approx(18)


def test_a_median_without_an_error_bar_is_an_aggregate_all_the_same():
    made = release((("a", 3.5), ("b", 4.5)), errors=((None, None), (None, None)), keys=(0,))
    (axes,) = made.plot().axes
    assert [bar.get_height() for bar in axes.patches] == [3.5, 4.5]


def test_a_histogram_has_a_bar_for_each_of_its_values():
    made = release((({"x": 3, "y": 4},),), errors=((None,),), columns=("h",), keys=())
    (axes,) = made.plot().axes
    assert labels(axes) == ["x", "y"]
    assert [bar.get_height() for bar in axes.patches] == [3, 4]


HOSTILE = ["$", "$x^", r"\frac{", "$\\undefined{$", "_a", "", "a\nb", "\x1b[2J", "\u202e", "字" * 50, "{}", "%s", None]


@pytest.mark.parametrize("count", [1, len(HOSTILE)])
def test_no_key_breaks_the_picture(count):
    rows = tuple((key, other, 1, 0.5) for key in HOSTILE[:count] for other in HOSTILE[:3])
    made = release(rows, errors=((None, None, 0.1, 0.1),) * len(rows), columns=("$k", "_o$", "n$", "\\a"))
    with pytest.warns(UserWarning, match="missing from font") if count > 1 else contextlib.nullcontext():
        made.plot().canvas.draw()


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), 10**400, -(10**30), 5e-324, 0])
def test_no_number_breaks_the_picture(value):
    figure = release((("a", value), ("b", 2)), errors=((None, 1e300), (None, None))).plot()
    figure.canvas.draw()


@pytest.mark.parametrize("rows", [(), (("a", "mode"),), (("a", ["x", "y"]),)])
def test_what_has_no_number_is_refused_in_our_words(rows):
    with pytest.raises(InvalidParameter, match="no number to draw"):
        release(rows, errors=((None, None),) * len(rows), keys=(0,)).plot()
