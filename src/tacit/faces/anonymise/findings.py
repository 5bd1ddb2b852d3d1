"""An anonymised table in plain words and numbers, for the screen, for JSON and for the page."""

from __future__ import annotations

import datetime
from dataclasses import asdict

from tacit.release.anonymise import Audit, Intersection, Report

SHOWN = 5  # earlier releases that are named
NOT_DP = "k-anonymity is not differential privacy"
OWNERS = "The owner's page, not for publication: what it counts is exact, and no promise covers it."
ROWS = "k counts rows; it counts people only where each person has one row"
LIMITS = (
    "It hides people only among the columns named as quasi-identifiers. Whoever knows more starts from there.",
    f"{ROWS}.",
    "A class with one sensitive value gives it away, whatever k is. l, t, alpha and beta are there for that.",
    "Two such tables about the same people can be intersected, and so can this one with any later release.",
    "How the classes were cut depends on the people in them, and says a little about them.",
    "A pseudonym still tells which rows are the same person's, and whoever holds its key can undo it.",
)


def limits(report: Report) -> tuple[str, ...]:
    """What the table does not protect, beginning with the columns that are published beside the hidden ones."""
    return (LIMITS[0], *kept_words(report), *earlier_words(report), *LIMITS[1:])


def kept_words(report: Report) -> tuple[str, ...]:
    """The columns that are published as they are, those as good as a name, and those that tell what a cell hides."""
    kept = report.request.roles.keep
    said = [f"Kept as they are, and hiding nobody: {', '.join(kept)}."] if kept else []
    if report.alone:
        said.append(f"Different in every row, and so as good as a name: {', '.join(report.alone)}.")
    said += [
        f"{tells.column} tells {tells.quasi_identifier} of {tells.share:.0%} of the rows, however coarse its cells are:"
        f" leave {tells.column} out, or name it a quasi-identifier, too."
        for tells in report.telling
    ]
    return tuple(said)


def earlier_words(report: Report) -> tuple[str, ...]:
    """The releases of the same dataset that the ledger knows of, and what they give away together with this one."""
    if not report.earlier:
        return ()
    number = f"{len(report.earlier)} earlier {'release' if len(report.earlier) == 1 else 'releases'}"
    first = f"The same people were published before: the ledger has {number} of this dataset."
    said = [f"{first} Whoever has two of them can intersect their classes, and no k holds for that."]
    for release in report.earlier[-SHOWN:]:
        day = datetime.datetime.fromtimestamp(release.at, datetime.UTC).date().isoformat()
        which = "" if release.same_table else " (another table: of the same people, if they are in it)"
        said.append(f"{day}, entry {release.entry[:16]}: {release.note}{which}.")
    said += [_intersected(intersection) for intersection in report.intersections]
    return tuple(said)


def _intersected(both: Intersection) -> str:
    told = "".join(
        f"; {one.column} is then certain for {one.together:.1%}, by this table alone for {one.alone:.1%}"
        for one in both.told
    )
    return (
        f"Entry {both.entry[:16]} made again (k = {both.k} of {', '.join(both.quasi_identifiers)}) and intersected"
        f" with this table: somebody is among {both.smallest:,} in both, {both.below:.1%} of people among fewer than"
        f" k, {both.unique:.1%} alone{told}."
    )


def counted_words(unit: str | None) -> str:
    """What k counts in a table of which each `unit` has one row, or of which none is known."""
    return ROWS if unit is None else f"each {unit} has one row, so k counts people"


def recorded_words(report: Report) -> str:
    """Whether the act is on record."""
    if report.entry is None:
        return "not on record: no policy was named, so no ledger knows of this table"
    return f"on record in the ledger as entry {report.entry[:16]}"


def cost_rows(report: Report) -> list[tuple[str, str]]:
    """(what, how much) of what the table lost by being made anonymous: rows, cells, size of classes."""
    utility = report.utility
    rows = [
        ("rows published", f"{utility.rows:,}"),
        ("rows left out", f"{utility.suppressed:,}"),
        ("classes", f"{utility.classes:,}, of {utility.average_class:.1f} rows on average"),
        ("loss of a cell (NCP)", f"{utility.ncp:.2%}"),
        ("discernibility", f"{utility.discernibility:.4g}"),
    ]
    if utility.suppressed:
        rows.insert(4, ("with the rows left out (GCP)", f"{utility.gcp:.2%}"))
    return rows


def risk_rows(report: Report) -> list[tuple[str, str, str]]:
    """What can be found out, before and after."""
    before, after = report.risk_before, report.risk_after
    link = report.linkage
    rows = [
        ("smallest class", f"{before.smallest:,}", f"{after.smallest:,}"),
        ("prosecutor: the easiest row to find", f"{before.prosecutor:.1%}", f"{after.prosecutor:.1%}"),
        ("marketer: rows matched rightly", f"{before.marketer:.1%}", f"{after.marketer:.1%}"),
        ("rows alone in their class", f"{before.sample_unique:.1%}", f"{after.sample_unique:.1%}"),
    ]
    if before.journalist is not None and after.journalist is not None:
        rows.append(("journalist: the same, of the population", f"{before.journalist:.1%}", f"{after.journalist:.1%}"))
    if before.population_unique is not None and after.population_unique is not None:
        said = "rows alone in the population" + (", estimated" if before.estimated else "")
        rows.append((said, f"{before.population_unique:.1%}", f"{after.population_unique:.1%}"))
    for one, other in zip(report.homogeneity_before, report.homogeneity_after, strict=True):
        said = f"rows whose class has one {one.column} only"
        rows.append((said, f"{one.homogeneous:.1%}", f"{other.homogeneous:.1%}"))
    rows.append(
        (f"linkage attack: of {link.people:,} rows found", f"{link.found_before:.1%}", f"{link.found_after:.1%}")
    )
    for wider in link.wider:
        said = f"  by one who also knows {', '.join(wider.columns)}"
        rows.append((said, f"{wider.found_before:.1%}", f"{wider.found_after:.1%}"))
    for was, now in zip(link.learnt_before, link.learnt_after, strict=True):
        rows.append((f"  {was.column} known for certain", f"{was.certain:.1%}", f"{now.certain:.1%}"))
        rows.append(
            (f"  {was.column} guessed rightly ({was.blind:.1%} blindly)", f"{was.guessed:.1%}", f"{now.guessed:.1%}")
        )
    return rows


def plain_report(report: Report) -> dict[str, object]:
    """A report as one JSON object: what was asked for, what it cost, and the risks that are left."""
    return {
        "guarantee": list(report.models),
        "differentially_private": False,
        "method": report.request.method,
        "quasi_identifiers": list(report.request.roles.quasi_identifiers),
        "kept": list(report.request.roles.keep),
        "different_in_every_row": list(report.alone),
        "unit": report.unit,
        "k_counts": "rows" if report.unit is None else "people",
        "left_out": list(report.left_out),
        "utility": asdict(report.utility),
        "risk": {"before": asdict(report.risk_before), "after": asdict(report.risk_after)},
        "homogeneity": {
            "before": [asdict(one) for one in report.homogeneity_before],
            "after": [asdict(one) for one in report.homogeneity_after],
        },
        "linkage": asdict(report.linkage),
        "tells_a_quasi_identifier": [asdict(one) for one in report.telling],
        "earlier_releases": [asdict(one) for one in report.earlier],
        "intersections": [asdict(one) for one in report.intersections],
        "class_sizes": [list(pair) for pair in report.class_sizes],
        "orders": {name: list(order) for name, order in report.orders.items()},
        "ledger_entry": report.entry,
        "seconds": round(report.seconds, 3),
    }


def audit_rows(audit: Audit) -> list[tuple[str, str]]:
    """What a table is worth as it stands."""
    rows = [
        ("rows", f"{audit.rows:,}"),
        ("classes", f"{audit.classes:,}"),
        ("k", f"{audit.k:,}"),
        ("prosecutor: the easiest row to find", f"{audit.risk.prosecutor:.1%}"),
        ("marketer: rows matched rightly", f"{audit.risk.marketer:.1%}"),
        ("rows alone in their class", f"{audit.risk.sample_unique:.1%}"),
    ]
    if audit.risk.population_unique is not None:
        rows.append(("rows alone in the population, estimated", f"{audit.risk.population_unique:.1%}"))
    for column in audit.sensitive:
        rows.append((f"l of {column.column}", f"{column.least_values} (entropy {column.least_entropy:.2f})"))
        rows.append((f"t of {column.column}, {column.distance} distance", f"{column.farthest:.3f}"))
        rows.append((f"rows whose class has one {column.column} only", f"{column.homogeneous:.1%}"))
    return rows


def plain_audit(audit: Audit) -> dict[str, object]:
    """An audit as one JSON object, with its k first."""
    return {"k": audit.k, **asdict(audit)}
