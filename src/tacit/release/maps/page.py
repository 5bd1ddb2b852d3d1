"""A map as a page of its own: squares that say their count, what is promised, and what is not hidden."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

GROUPS = (1, 2, 5, 10, 50, 100, 1_000)
_SIDE = 640
_PALE, _DARK = (252, 246, 230), (60, 10, 90)
_MIDDLE = (226, 80, 70)

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
svg { width: 100%; height: auto; border: 1px solid #bbb; background: #fff; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #ddd; }
small { color: #555; }
.key { display: flex; gap: .6rem; align-items: center; font-size: .85rem; }
.key i { flex: 0 1 14rem; height: .9rem; border: 1px solid #bbb; }
"""


@dataclass(frozen=True, slots=True)
class MapSquare:
    """One square of the map, how many there are in it, and how far off that may be."""

    x: float
    y: float
    width: float
    height: float
    count: int
    error: float

    @property
    def seen(self) -> bool:
        """Whether the count stands out from its noise."""
        return self.count > self.error


@dataclass(frozen=True, slots=True)
class MapFacts:
    """What a page shows of a map."""

    table: str
    names: tuple[str, str]
    starts: tuple[float, float]
    ends: tuple[float, float]
    squares: tuple[MapSquare, ...]
    promised: str
    visible: int  # rows that stand out where nobody else is
    groups: tuple[tuple[int, float], ...]  # of people, and the epsilon that is promised to them
    delta: float


def page(facts: MapFacts) -> str:
    """The whole page, with nothing to fetch from elsewhere."""
    names = [escape(name) for name in facts.names]
    total = sum(square.count for square in facts.squares)
    groups = "".join(f"<tr><td>{people:,}</td><td>{_figure(epsilon)}</td></tr>" for people, epsilon in facts.groups)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(facts.table)}: a private heatmap</title><style>{_STYLE}</style></head><body>
<h1>{escape(facts.table)}</h1>
<p>About {total:,} rows in {len(facts.squares):,} squares, finer where there is more. A square says its count when it is
pointed at.</p>
{_drawing(facts)}
{_legend(facts)}
<p><small>{names[0]}: {facts.starts[0]:g} to {facts.ends[0]:g}, left to right. {names[1]}:
{facts.starts[1]:g} to {facts.ends[1]:g}, upwards. Darker is denser, by the logarithm; a square whose count does
not stand out from its noise is left white.</small></p>
<h2>What is promised</h2>
<p>{escape(facts.promised)}: whether any one of them is in the data, and where, hardly changes
what this map is likely to be.</p>
<h2>What is not hidden</h2>
<p>A place that many people go to. The noise hides each of them, not what they have in common: in 2018 a map of people's
runs showed the outlines of military bases, because soldiers ran there and hardly anybody else did. No one soldier could
be told from it, and the base could. Here {facts.visible:,} rows in a place where nobody else is are enough to stand
out.</p>
<p>To a group whose rows are there together or not at all, less is promised the larger it is, for ρ grows with the
square of its size (δ = {facts.delta:.2g}). Where ε is beyond 10 or so, take it that the group can be
seen.</p>
<table><tr><th>group</th><th>ε</th></tr>{groups}</table>
<p>A place that must not show is left out of the data, or the whole map is made at an ε that is small for a group of its
size.</p>
</body></html>
"""


def squares_csv(squares: Sequence[MapSquare]) -> str:
    """The squares, one in each line."""
    lines = [f"{s.x:.10g},{s.y:.10g},{s.width:.10g},{s.height:.10g},{s.count},{s.error:.1f}" for s in squares]
    return "\n".join(["x,y,width,height,count,error", *lines]) + "\n"


def _drawing(facts: MapFacts) -> str:
    width, height = (end - start for start, end in zip(facts.starts, facts.ends, strict=True))
    squares = facts.squares
    most = max([_density(square) for square in squares], default=0.0)
    least = min([_density(square) for square in squares if square.seen], default=most)
    drawn = []
    for square in squares:
        x, y = (square.x - facts.starts[0]) / width, (square.y - facts.starts[1]) / height
        wide, high = square.width / width, square.height / height
        title = f"<title>{square.count:,} ± {square.error:,.0f}</title>"
        colour = _colour(_density(square), least, most) if square.seen else "#ffffff"
        drawn.append(
            f'<rect x="{x * _SIDE:.2f}" y="{(1 - y - high) * _SIDE:.2f}" width="{wide * _SIDE:.2f}"'
            f' height="{high * _SIDE:.2f}" fill="{colour}">{title}</rect>'
        )
    return (
        f'<svg viewBox="0 0 {_SIDE} {_SIDE}" role="img" aria-label="heatmap" stroke="#00000014" stroke-width=".4">'
        f"{''.join(drawn)}</svg>"
    )


def _legend(facts: MapFacts) -> str:
    """What the palest and the darkest colour stand for; nothing where no square stands out."""
    seen = [_density(square) for square in facts.squares if square.seen]
    if not seen:
        return ""
    smallest = min(square.width * square.height for square in facts.squares)
    low, high = (f"{density * smallest:,.2g}" for density in (min(seen), max(seen)))
    colours = ", ".join(f"rgb{colour}" for colour in (_PALE, _MIDDLE, _DARK))
    strip = f'<i style="background: linear-gradient(to right, {colours})"></i>'
    return f'<p class="key"><span>{low}</span>{strip}<span>{high} rows in a square as small as the smallest</span></p>'


def _density(square: MapSquare) -> float:
    return square.count / (square.width * square.height)


def _colour(density: float, least: float, most: float) -> str:
    share = 1.0 if most <= least else math.log(density / least) / math.log(most / least)
    low, high, part = (_PALE, _MIDDLE, 2 * share) if share < 0.5 else (_MIDDLE, _DARK, 2 * share - 1)
    mixed = [round(a + (b - a) * min(1.0, max(0.0, part))) for a, b in zip(low, high, strict=True)]
    return "#" + "".join(f"{value:02x}" for value in mixed)


def _figure(epsilon: float) -> str:
    return f"{epsilon:,.2f}" if epsilon < 100 else f"{epsilon:,.0f}"
