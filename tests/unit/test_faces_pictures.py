"""The demonstration's pictures: well-formed SVG whose shapes stand where the numbers say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from tacit.faces.demo.pictures import WIDTH, Bar, bars, budget, running_means

SVG = "{http://www.w3.org/2000/svg}"


def drawn(text: str) -> ET.Element:
    root = ET.fromstring(text)
    for node in root.iter():
        for name, value in node.attrib.items():
            if name in {"x", "y", "width", "height", "x1", "x2", "y1", "y2"} and node is not root:
                assert float(value) >= 0, ET.tostring(node)
                assert float(value) <= 2 * WIDTH
    return root


def test_bars_are_as_long_as_their_values_and_carry_error_and_truth() -> None:
    root = drawn(bars([Bar("a<b", 10, 2, 11, "10 ± 2"), Bar("c", 20, 2, 19, "20 ± 2")], title="n"))
    widths = [float(rect.get("width", 0)) for rect in root.iter(f"{SVG}rect")]
    assert abs(widths[1] / widths[0] - 2) < 0.01
    kinds = [line.get("class") for line in root.iter(f"{SVG}line")]
    assert (kinds.count("true"), kinds.count("error")) == (2, 6)
    assert "a<b" in [text.text for text in root.iter(f"{SVG}text")]


def test_a_negative_answer_is_drawn_to_the_left_of_zero() -> None:
    root = drawn(bars([Bar("a", -5, 1, 1, ""), Bar("b", 10, 1, 10, "")], title="n"))
    below, above = (rect.attrib for rect in root.iter(f"{SVG}rect"))
    assert float(below["x"]) + float(below["width"]) <= float(above["x"]) + 0.2


def test_bars_of_nothing_at_all_do_not_divide_by_zero() -> None:
    drawn(bars([Bar("a", 0, 0, 0, "0")], title="n"))


def test_a_budget_is_filled_by_what_was_spent() -> None:
    root = drawn(budget([("1", 1.0), ("2", 0.5)], cap=3, name="ana"))
    rects = list(root.iter(f"{SVG}rect"))
    whole, spent = float(rects[0].get("width", 0)), sum(float(rect.get("width", 0)) + 1 for rect in rects[1:])
    assert abs(spent / whole - 0.5) < 0.01
    assert "1.5 of 3 spent" in "".join(root.itertext())


def test_running_means_stay_inside_the_frame() -> None:
    root = drawn(running_means([90.0, -40.0, 3.0], [200.0 / n for n in range(1, 2001)], truth=1, reach=13, stop="gone"))
    for path in root.iter(f"{SVG}path"):
        for x, y in re.findall(r"([\d.-]+),([\d.-]+)", path.get("d", "")):
            assert 0 <= float(x) <= WIDTH
            assert 0 <= float(y) <= 300
