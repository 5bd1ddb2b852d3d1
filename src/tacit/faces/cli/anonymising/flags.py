"""The options of `tacit anonymise` and `tacit anonymise check`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Method(StrEnum):
    """How the classes are found."""

    GREEDY = "greedy"
    STRICT = "strict"
    RELAXED = "relaxed"
    OPTIMAL = "optimal"
    LOCAL = "local"
    MICROAGGREGATE = "microaggregate"


class Diversity(StrEnum):
    """What l counts."""

    DISTINCT = "distinct"
    ENTROPY = "entropy"
    RECURSIVE = "recursive"


class CountedDiversity(StrEnum):
    """What the l of a table that is there can count."""

    DISTINCT = "distinct"
    ENTROPY = "entropy"


class Distance(StrEnum):
    """How far two sensitive values are apart."""

    EQUAL = "equal"
    ORDERED = "ordered"
    HIERARCHICAL = "hierarchical"


Table = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="A Parquet, CSV or JSON file; with --policy also a table of its source."),
]
QuasiIdentifiers = Annotated[
    list[str], typer.Option("--qi", metavar="COLUMNS", help="The quasi-identifiers: what others may know.")
]
Sensitive = Annotated[
    list[str] | None, typer.Option("--sensitive", "-s", metavar="COLUMNS", help="What nobody shall learn.")
]
Keep = Annotated[list[str] | None, typer.Option("--keep", metavar="COLUMNS", help="Publish these as they are.")]
Pseudonym = Annotated[
    list[str] | None, typer.Option("--pseudonym", metavar="COLUMNS", help="Identifiers, as a keyed hash.")
]
Unit = Annotated[
    str | None,
    typer.Option("--unit", metavar="COLUMN", help="Whose a row is: one row each, or it is refused. row: any."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="The hash's key; else a random one, used once and forgotten."),
]
K = Annotated[int | None, typer.Option("-k", metavar="NUMBER", help="Rows that share their cells, at least.")]
L = Annotated[float | None, typer.Option("-l", metavar="NUMBER", help="Sensitive values in each class, at least.")]
HowDiverse = Annotated[Diversity, typer.Option("--diversity", help="How l counts them.")]
HowDiverseThere = Annotated[CountedDiversity, typer.Option("--diversity", help="How l counts them.")]
C = Annotated[float | None, typer.Option("-c", metavar="NUMBER", help="The c of recursive diversity.")]
T = Annotated[float | None, typer.Option("-t", metavar="NUMBER", help="How far a class may be from the table, 0 to 1.")]
HowFar = Annotated[Distance, typer.Option("--distance", help="How t measures that.")]
Alpha = Annotated[float | None, typer.Option("--alpha", metavar="SHARE", help="The most one value may be of a class.")]
Beta = Annotated[float | None, typer.Option("--beta", metavar="NUMBER", help="The most a value may gain in a class.")]
PopulationK = Annotated[
    int | None, typer.Option("--k-map", metavar="NUMBER", help="People of the population each row fits, at least.")
]
Presence = Annotated[
    str | None, typer.Option("--presence", metavar="LOW:HIGH", help="Of those people, the share that is in the table.")
]
Population = Annotated[
    Path | None, typer.Option("--population", metavar="FILE", help="Everybody the table could have held.")
]
PopulationSize = Annotated[
    int | None, typer.Option("--population-size", metavar="COUNT", help="How many that is, for an estimate.")
]
HowMade = Annotated[Method, typer.Option("--method", "-m", help="How classes are found.")]
Hierarchies = Annotated[Path | None, typer.Option("--hierarchies", metavar="FILE", help="Levels of columns, in TOML.")]
BandsOf = Annotated[
    list[str] | None, typer.Option("--bands", metavar="COLUMN=10/20", help="Half-open bands; or edges, 60,80,+.")
]
PrefixOf = Annotated[
    list[str] | None, typer.Option("--prefix", metavar="COLUMN=3,2,1", help="Leading characters that stay.")
]
Top = Annotated[
    list[str] | None, typer.Option("--top", metavar="COLUMN=80", help="One cell, 80+, from there up; or a date.")
]
Bottom = Annotated[
    list[str] | None, typer.Option("--bottom", metavar="COLUMN=20", help="One cell, <=20, from there down; or a date.")
]
GridOf = Annotated[
    list[str] | None,
    typer.Option("--grid", metavar="COLUMN=5", help="Where intervals may end: every 5; of dates month, year, …"),
]
Suppress = Annotated[float, typer.Option("--suppress", metavar="SHARE", help="The share of rows that may be left out.")]
TableOutput = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where the table goes: Parquet or CSV.")
]
ReportFile = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="A page with pictures, for the owner's eyes.")
]
TrueRows = Annotated[
    bool, typer.Option("--true-rows", help="Show rows as they were on that page, beside published ones.")
]
RecordPolicy = Annotated[
    Path | None, typer.Option("--policy", "-p", metavar="FILE", help="Put it on record in this policy's ledger.")
]
SourcePolicy = Annotated[
    Path | None, typer.Option("--policy", "-p", metavar="FILE", help="The policy of whose source the table is.")
]
