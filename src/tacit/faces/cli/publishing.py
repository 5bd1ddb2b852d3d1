"""`tacit hierarchy`, `tacit histogram` and `tacit heatmap`: counts that are published once, and agree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tacit.core import Loss, decimal_text
from tacit.faces.cli.options import POLICY, Analyst, PlainOption, PolicyFile
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import print_lines, print_table

if TYPE_CHECKING:
    from tacit.policy import AnalystPolicy
    from tacit.release.hierarchies import HierarchicalCounts
    from tacit.release.publishing import PricedPlan, Publication, Publishable, Publisher

T = TypeVar("T")
ABOUT = """Count a table at every level of a public tree: the whole, its parts, and theirs down to each place.

PLACE is a column whose domain is a column of a public table; --levels are other columns of that table, from the top.
Every level has noise of its own, and all are then made to agree: no count is negative, and parts add up to their whole.
The price is paid once, by the analyst named with --as, or else from the dataset's total: that is the owner's act.
"""
_SHOWN = 20
Table = Annotated[str, typer.Argument(metavar="TABLE", help="A table of the policy.")]
Plotted = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Where a picture goes: .png or .svg.", show_default=False)
]


@dataclass(frozen=True, slots=True)
class PriceOptions:
    """What a release costs."""

    epsilon: Annotated[str, typer.Option("--epsilon", "--eps", "-e", metavar="NUMBER", help="The whole price.")]
    delta: Annotated[
        str | None, typer.Option("--delta", metavar="NUMBER", help="The delta; else the policy's default_delta.")
    ] = None


@dataclass(frozen=True, slots=True)
class PublishingOptions:
    """How a release is made: of which policy, by whom, and whether it is paid for."""

    explain: Annotated[bool, typer.Option("--explain", help="Say what would be counted and paid, free.")] = False
    fresh: Annotated[bool, typer.Option("--fresh", help="Pay again, even if the same is kept.")] = False
    policy: PolicyFile = POLICY
    analyst: Analyst = None
    form: PlainOption = Plain.TABLE


def hierarchy(  # noqa: PLR0913 - the options of a command
    table: Table,
    place: Annotated[str, typer.Argument(metavar="PLACE", help="The column of the lowest level.")],
    *,
    price: PriceOptions,
    levels: Annotated[
        str | None, typer.Option("--levels", metavar="A,B,…", help="What is above it, from the top.")
    ] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="A,B,…", help="Count by these columns in each.")] = None,
    shares: Annotated[
        str | None,
        typer.Option("--shares", metavar="1,1,…", help="How levels share the price, from the whole down; else alike."),
    ] = None,
    level: Annotated[
        str | None, typer.Option("--level", metavar="NAME", help="Which level is shown and written; else the lowest.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where its counts go: .parquet or .csv.")
    ] = None,
    plot: Plotted = None,
    how: PublishingOptions,
) -> None:
    """Count a table at every level of a public tree: see ABOUT."""
    from tacit.release.hierarchies import HierarchyRequest
    from tacit.release.synthesise import writable

    if output is not None:
        writable(output)
    named, cells, parts = (listed(each) for each in (levels, by, shares))
    refuse_level(level, (*named, place))
    wish = HierarchyRequest(table, place, price.epsilon, price.delta, named, cells, parts, how.fresh)
    paid = published(wish, how, plot=plot)
    if paid is None:
        return
    counts = paid.value
    if output is not None:
        counts.write(output, level)
    if plot is not None:
        counts.plot(level).savefig(plot)
    _show(paid, level, how.form)
    print_written(output, plot, how.form)


def histogram(
    table: Table,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="The column whose bins are counted.")],
    *,
    price: PriceOptions,
    bins: Annotated[
        int | None, typer.Option("--bins", metavar="COUNT", help="Of numbers: at most so many bins of one width.")
    ] = None,
    plot: Plotted = None,
    kind: Annotated[str, typer.Option("--kind", metavar="NAME", help="The picture: histogram or cdf.")] = "histogram",
    how: PublishingOptions,
) -> None:
    """Count the bins of a column once; ranges, the share below each value and quantiles follow from it, free."""
    from tacit.errors import InvalidParameter
    from tacit.faces.formatting import show_json
    from tacit.release.distributions import DistributionRequest

    if kind not in {"histogram", "cdf"}:
        raise InvalidParameter(f"there is no picture {kind[:40]!r}", hint="histogram or cdf")
    wish = DistributionRequest(table, column, price.epsilon, price.delta, bins, how.fresh)
    paid = published(wish, how, plot=plot)
    if paid is None:
        return
    value = paid.value
    if plot is not None:
        value.plot(kind).savefig(plot)
    lines = list(zip(map(str, value.bins), value.counts.tolist(), value.errors().tolist(), strict=True))
    if how.form is Plain.JSON:
        shown = [{"bin": name, "count": count, "error": round(error, 1)} for name, count, error in lines]
        about = {"table": value.table, "column": value.attribute.name, "bins": shown}
        show_json({**about, **payment(paid)})
        return
    print_paid(paid, f"{value.table}.{value.attribute.name}: {len(lines):,} bins")
    rows = [(name, f"{count:,}", f"±{error:,.0f}") for name, count, error in lines]
    print_table((value.attribute.name, "count", "error"), rows, right=(1, 2))
    print_lines("", "errors are 95% intervals, by noise and by what makes counts whole", dim=True)
    print_written(None, plot, how.form)


def heatmap(
    table: Table,
    x: Annotated[str, typer.Argument(metavar="X", help="The column across, with bounds.")],
    y: Annotated[str, typer.Argument(metavar="Y", help="The column upwards, with bounds.")],
    *,
    price: PriceOptions,
    depth: Annotated[
        int, typer.Option("--depth", metavar="COUNT", help="The finest squares: 2^depth in each direction.")
    ] = 6,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The map: .png, .svg, .html or .csv.")
    ] = None,
    how: PublishingOptions,
) -> None:
    """Count a map once, in squares that are finer where there is more; the page says what noise does not hide."""
    from tacit.faces.formatting import show_json
    from tacit.release.maps import HeatmapRequest, drawable

    if output is not None:
        drawable(output)
    paid = published(HeatmapRequest(table, x, y, price.epsilon, price.delta, depth, how.fresh), how)
    if paid is None:
        return
    value = paid.value
    if output is not None:
        value.write(output)
    groups = {people: value.group(people) for people in (1, 10, 100)}
    if how.form is Plain.JSON:
        about = {"table": value.table, "rows": value.total, "squares": len(value), "visible": value.visible}
        promised = {str(people): float(loss.epsilon) for people, loss in groups.items()}
        show_json({**about, "groups": promised, **payment(paid)})
        return
    print_paid(paid, f"a map of {value.table}: about {value.total:,} rows in {len(value):,} squares")
    print_table(("group", "ε"), [(f"{n:,}", f"{float(loss.epsilon):,.2f}") for n, loss in groups.items()], right=(0, 1))
    seen = f"a place that many go to is not hidden: {value.visible:,} rows where nobody else is stand out"
    print_lines("", seen, "to a group who are there together or not at all, less is promised: see the table", dim=True)
    print_written(output, None, how.form)


def published(wish: Publishable[T], how: PublishingOptions, *, plot: Path | None = None) -> Publication[T] | None:
    """What was published; None where only its price was to be said, which is then shown."""
    from tacit.curator.forms.extras import needs
    from tacit.errors import InvalidParameter

    if plot is not None:
        needs("matplotlib", extra="plot")
        if plot.suffix.lower() not in {".png", ".svg", ".html"} or plot.exists() or not plot.absolute().parent.is_dir():
            raise InvalidParameter(
                f"{plot.name} cannot be written", hint="a new .png, .svg or .html file, in a folder that is there"
            )
    with publishing(how) as (publisher, who):
        if how.explain:
            _show_plan(publisher.plan(wish), how.form)
            return None
        return publisher.publish(wish, who)


@contextmanager
def publishing(how: PublishingOptions) -> Iterator[tuple[Publisher, AnalystPolicy]]:
    """Who publishes, and for whom: the analyst, or else the owner."""
    from tacit.faces.opening import open_policy
    from tacit.policy import load_policy
    from tacit.release.publishing import owner_of

    declared = load_policy(how.policy)
    who = owner_of(declared) if how.analyst is None else declared.analyst(how.analyst)
    opened = open_policy(declared)
    with closing(opened.curator):
        yield opened.publisher(), who


def listed(text: str | None) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def refuse_level(level: str | None, levels: tuple[str, ...]) -> None:
    """Refuse a level that will not be there, before anything is paid."""
    from tacit.errors import InvalidParameter
    from tacit.release.hierarchies.tree import WHOLE

    if level is not None and level.casefold() not in {each.casefold() for each in (WHOLE, *levels)}:
        raise InvalidParameter(f"there is no level {level[:60]!r}", hint=f"there are {', '.join((WHOLE, *levels))}")


def priced(cost: Loss) -> dict[str, str]:
    """A price, as JSON shows it."""
    return {"epsilon": decimal_text(cost.epsilon), "delta": decimal_text(cost.delta)}


def payment(paid: Publication[T]) -> dict[str, object]:
    """What was paid for a release and where that is on record, as JSON shows it."""
    return {**priced(paid.cost), "reused": paid.reused, "entry": paid.entry}


def print_paid(paid: Publication[T], what: str, *, again: str = "the same counts") -> None:
    """What was published, and what for."""
    print_lines(f"{what}; " + (f"reused: {again}, free" if paid.reused else f"cost {paid.cost}"), "")


def print_written(output: Path | None, plot: Path | None, form: Plain) -> None:
    """Which files were written."""
    if form is Plain.TABLE:
        print_lines(*(f"wrote {path}" for path in (output, plot) if path is not None))


def _show_plan(plan: PricedPlan[T], form: Plain) -> None:
    from tacit.faces.formatting import show_json

    if form is Plain.JSON:
        show_json({"table": plan.table, "counted": plan.said, **priced(plan.loss), "rho": float(plan.rho)})
    else:
        print_lines(f"would cost {plan.loss} (ρ = {float(plan.rho):.4g})", f"for {plan.said}")


def _show(paid: Publication[HierarchicalCounts], level: str | None, form: Plain) -> None:
    from tacit.faces.formatting import show_json

    counts = paid.value
    index = counts.level(level)
    rows = list(counts.rows(level, totals=True))
    if form is Plain.JSON:
        lines = [{"path": list(row[:-2]), "count": row[-2], "error": row[-1]} for row in rows]
        shown = {"table": counts.table, "level": counts.levels[index], "held": counts.held, "totals": lines}
        show_json({**shown, **payment(paid)})
        return
    sizes = ", ".join(f"{len(paths):,} {name}" for name, paths in zip(counts.levels, counts.paths, strict=True))
    print_paid(paid, f"counts of {counts.table}: {sizes}")
    names = counts.levels[1 : index + 1] or ("",)
    shown_rows = [(*map(str, row[:-2] or (counts.table,)), f"{row[-2]:,}", f"±{row[-1]:,.0f}") for row in rows[:_SHOWN]]
    print_table((*names, "count", "error"), shown_rows, right=(len(names), len(names) + 1))
    more = f"{len(rows) - _SHOWN:,} more; " if len(rows) > _SHOWN else ""
    held = f"; exact by the policy's public_totals: {counts.held} and above" if counts.held else ""
    print_lines("", f"{more}errors are 95% intervals, by noise and by what makes counts whole{held}", dim=True)


COMMANDS = (
    Command(
        "hierarchy",
        hierarchy,
        "counts at every level of a public tree",
        about=ABOUT,
        examples="""
  tacit hierarchy people town --levels country,region --by age,sex --eps 1 --delta 1e-9 -o towns.parquet
  tacit hierarchy people town --levels country,region --eps 1 --level region --plot regions.png --as ana
  tacit hierarchy people town --levels country,region --eps 1 --shares 1,4,2,1 --explain
""",
    ),
    Command(
        "histogram",
        histogram,
        "the bins of a column, and all ranges of them",
        examples="""
  tacit histogram people age --eps 0.5 --delta 1e-9 --plot age.png
  tacit histogram people age --eps 0.5 --bins 90 --kind cdf --plot age.svg --as ana
""",
    ),
    Command(
        "heatmap",
        heatmap,
        "private counts on a map, finer where there is more",
        examples="""
  tacit heatmap runs lon lat --eps 1 --delta 1e-9 -o runs.html
  tacit heatmap runs lon lat --eps 1 --depth 8 -o runs.png --as ana
""",
    ),
)
