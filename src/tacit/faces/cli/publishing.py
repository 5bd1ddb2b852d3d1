"""`tacit hierarchy`, `tacit histogram` and `tacit heatmap`: counts that are published once, and agree."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tacit.core import Loss, decimal_text
from tacit.faces.cli.options import POLICY, Analyst, PlainOption, PolicyFile
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import print_lines, print_table

if TYPE_CHECKING:
    from tacit.release.hierarchies import HierarchicalCounts
    from tacit.release.publishing import PricedPlan, Publishable, PublishedCounts

T = TypeVar("T")
ABOUT = """Count a table at every level of a public tree: the whole, its parts, and theirs down to each place.

PLACE is a column whose domain is a column of a public table; --levels are other columns of that table, from the top.
Every level has noise of its own, and all are then made to agree: no count is negative, and parts add up to their whole.
The price is paid once, by the analyst named with --as, or else from the dataset's total: that is the owner's act.
"""
_SHOWN = 20
Table = Annotated[str, typer.Argument(metavar="TABLE", help="A table of the policy.")]
Price = Annotated[str, typer.Option("--epsilon", "--eps", "-e", metavar="NUMBER", help="The whole price.")]
PriceDelta = Annotated[
    str | None, typer.Option("--delta", metavar="NUMBER", help="The delta; else the policy's default_delta.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Pay again, even if the same is kept.")]
Explained = Annotated[bool, typer.Option("--explain", help="Say what would be counted and paid, free.")]
Plotted = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Where a picture goes: .png or .svg.", show_default=False)
]


def hierarchy(  # noqa: PLR0913 - the options of a command
    table: Table,
    place: Annotated[str, typer.Argument(metavar="PLACE", help="The column of the lowest level.")],
    *,
    epsilon: Price,
    delta: PriceDelta = None,
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
    plan: Explained = False,
    fresh: Fresh = False,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Count a table at every level of a public tree: see ABOUT."""
    from tacit.release.hierarchies import HierarchyRequest
    from tacit.release.synthesise import writable

    if output is not None:
        writable(output)
    named, cells, parts = (listed(each) for each in (levels, by, shares))
    refuse_level(level, (*named, place))
    wish = HierarchyRequest(table, place, epsilon, delta, named, cells, parts, fresh)
    published_counts = published(wish, policy, analyst, plan=plan, form=form, plot=plot)
    if published_counts is None:
        return
    counts = published_counts.value
    if output is not None:
        counts.write(output, level)
    if plot is not None:
        counts.plot(level).savefig(plot)
    _show(published_counts, counts, level, form)
    print_written(output, plot, form)


def histogram(  # noqa: PLR0913 - the options of a command
    table: Table,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="The column whose bins are counted.")],
    *,
    epsilon: Price,
    delta: PriceDelta = None,
    bins: Annotated[
        int | None, typer.Option("--bins", metavar="COUNT", help="Of numbers: at most so many bins of one width.")
    ] = None,
    plot: Plotted = None,
    kind: Annotated[str, typer.Option("--kind", metavar="NAME", help="The picture: histogram or cdf.")] = "histogram",
    plan: Explained = False,
    fresh: Fresh = False,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Count the bins of a column once; ranges, the share below each value and quantiles follow from it, free."""
    from tacit.errors import InvalidParameter
    from tacit.faces.formatting import show_json
    from tacit.release.distributions import DistributionRequest

    if kind not in {"histogram", "cdf"}:
        raise InvalidParameter(f"there is no picture {kind[:40]!r}", hint="histogram or cdf")
    wish = DistributionRequest(table, column, epsilon, delta, bins, fresh)
    published_counts = published(wish, policy, analyst, plan=plan, form=form, plot=plot)
    if published_counts is None:
        return
    value = published_counts.value
    if plot is not None:
        value.plot(kind).savefig(plot)
    lines = list(zip(map(str, value.bins), value.counts.tolist(), value.errors().tolist(), strict=True))
    if form is Plain.JSON:
        shown = [{"bin": name, "count": count, "error": round(error, 1)} for name, count, error in lines]
        about = {"table": value.table, "column": value.attribute.name, "bins": shown}
        show_json(
            {
                **about,
                **priced(published_counts.cost),
                "reused": published_counts.reused,
                "entry": published_counts.entry,
            }
        )
        return
    print_paid(published_counts, f"{value.table}.{value.attribute.name}: {len(lines):,} bins")
    rows = [(name, f"{count:,}", f"±{error:,.0f}") for name, count, error in lines]
    print_table((value.attribute.name, "count", "error"), rows, right=(1, 2))
    print_lines("", "errors are 95% intervals, by noise and by what makes counts whole", dim=True)
    print_written(None, plot, form)


def heatmap(  # noqa: PLR0913 - the options of a command
    table: Table,
    x: Annotated[str, typer.Argument(metavar="X", help="The column across, with bounds.")],
    y: Annotated[str, typer.Argument(metavar="Y", help="The column upwards, with bounds.")],
    *,
    epsilon: Price,
    delta: PriceDelta = None,
    depth: Annotated[
        int, typer.Option("--depth", metavar="COUNT", help="The finest squares: 2^depth in each direction.")
    ] = 6,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The map: .png, .svg, .html or .csv.")
    ] = None,
    plan: Explained = False,
    fresh: Fresh = False,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Count a map once, in squares that are finer where there is more; the page says what noise does not hide."""
    from tacit.faces.formatting import show_json
    from tacit.release.maps import HeatmapRequest, drawable

    if output is not None:
        drawable(output)
    published_counts = published(
        HeatmapRequest(table, x, y, epsilon, delta, depth, fresh), policy, analyst, plan=plan, form=form, plot=None
    )
    if published_counts is None:
        return
    value = published_counts.value
    if output is not None:
        value.write(output)
    groups = {people: value.group(people) for people in (1, 10, 100)}
    if form is Plain.JSON:
        about = {"table": value.table, "rows": value.total, "squares": len(value), "visible": value.visible}
        promised = {str(people): float(loss.epsilon) for people, loss in groups.items()}
        paid = {**priced(published_counts.cost), "reused": published_counts.reused, "entry": published_counts.entry}
        show_json({**about, "groups": promised, **paid})
        return
    print_paid(published_counts, f"a map of {value.table}: about {value.total:,} rows in {len(value):,} squares")
    print_table(("group", "ε"), [(f"{n:,}", f"{float(loss.epsilon):,.2f}") for n, loss in groups.items()], right=(0, 1))
    seen = f"a place that many go to is not hidden: {value.visible:,} rows where nobody else is stand out"
    print_lines("", seen, "to a group who are there together or not at all, less is promised: see the table", dim=True)
    print_written(output, None, form)


def published(
    wish: Publishable[T], policy: Path, analyst: str | None, *, plan: bool, form: Plain, plot: Path | None
) -> PublishedCounts[T] | None:
    """What was published; None where only its price was to be said, which is then shown."""
    from tacit.curator.forms.extras import needs
    from tacit.errors import InvalidParameter
    from tacit.faces.opening import open_policy
    from tacit.policy import load_policy
    from tacit.release.publishing import owner_of

    if plot is not None:
        needs("matplotlib", extra="plot")
        if plot.suffix.lower() not in {".png", ".svg", ".html"} or plot.exists() or not plot.absolute().parent.is_dir():
            raise InvalidParameter(
                f"{plot.name} cannot be written", hint="a new .png, .svg or .html file, in a folder that is there"
            )
    declared = load_policy(policy)
    who = owner_of(declared) if analyst is None else declared.analyst(analyst)
    opened = open_policy(declared)
    with closing(opened.curator):
        publisher = opened.publisher()
        if plan:
            _show_plan(publisher.plan(wish), form)
            return None
        return publisher.publish(wish, who)


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


def print_paid(published_counts: PublishedCounts[T], what: str) -> None:
    """What was published, and what for."""
    print_lines(
        f"{what}; " + ("reused: the same counts, free" if published_counts.reused else f"cost {published_counts.cost}"),
        "",
    )


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


def _show(
    published_counts: PublishedCounts[HierarchicalCounts], counts: HierarchicalCounts, level: str | None, form: Plain
) -> None:
    from tacit.faces.formatting import show_json

    index = counts.level(level)
    rows = list(counts.rows(level, totals=True))
    if form is Plain.JSON:
        lines = [{"path": list(row[:-2]), "count": row[-2], "error": row[-1]} for row in rows]
        shown = {"table": counts.table, "level": counts.levels[index], "held": counts.held, "totals": lines}
        show_json(
            {
                **shown,
                **priced(published_counts.cost),
                "reused": published_counts.reused,
                "entry": published_counts.entry,
            }
        )
        return
    sizes = ", ".join(f"{len(paths):,} {name}" for name, paths in zip(counts.levels, counts.paths, strict=True))
    print_paid(published_counts, f"counts of {counts.table}: {sizes}")
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
