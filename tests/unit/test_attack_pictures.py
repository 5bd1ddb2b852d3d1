"""Tests of the pictures of attacks: names that can be read."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tacit.attack import Published
from tacit.faces.attack import pictures

WORTHS = st.lists(st.floats(0, 1), min_size=1, max_size=9)
NAME = re.compile(r'<text class="label" x="([\d.]+)" y="(-?[\d.]+)"[^>]*>([^<]*)</text>')
POINT = re.compile(r'<circle class="\w+" cx="([\d.]+)" cy="(-?[\d.]+)"')


@given(WORTHS)
def test_no_name_of_the_chart_covers_another_or_a_point(worths):
    # every gain is 0 where nothing was attacked: all points lie on one line, as those of private publications do
    drawn = pictures.trade_off([Published(f"number {n}", worth, ()) for n, worth in enumerate(worths)])
    names = [(float(x), float(y), text) for x, y, text in NAME.findall(drawn)]
    points = [(float(x), float(y)) for x, y in POINT.findall(drawn)]
    assert len(names) == len(points) == len(worths)
    for index, (x, y, _) in enumerate(names):
        for beside, other, _ in names[index + 1 :]:
            assert abs(y - other) > 12 or abs(x - beside) > 100
        assert not any(x < across < x + 100 and abs(y - 4 - up) < 6 for across, up in points)
