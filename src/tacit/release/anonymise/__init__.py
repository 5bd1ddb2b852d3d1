"""k-anonymity and its family: make a table publishable, show what it costs and what it does not protect."""

from tacit.release.anonymise.checks.checking import Audit, check
from tacit.release.anonymise.door import anonymise, anonymise_source
from tacit.release.anonymise.models.family import (
    AlphaAnonymity,
    BetaLikeness,
    DeltaPresence,
    EntropyDiversity,
    KAnonymity,
    KMap,
    LDiversity,
    Model,
    RecursiveDiversity,
    TCloseness,
)
from tacit.release.anonymise.models.wanted import Wanted, wanted_of
from tacit.release.anonymise.reading.source import TableSource, open_named, open_source, open_table
from tacit.release.anonymise.releases import Earlier, Intersection
from tacit.release.anonymise.request import METHODS, Request, Roles
from tacit.release.anonymise.result import Anonymised, Report, writable
from tacit.release.anonymise.values.hierarchy import Bands, Calendar, Hierarchy, Order, Prefix, Tree
from tacit.release.anonymise.values.hierarchy_files import load_hierarchies, load_tree, parse_bands

__all__ = [
    "METHODS",
    "AlphaAnonymity",
    "Anonymised",
    "Audit",
    "Bands",
    "BetaLikeness",
    "Calendar",
    "DeltaPresence",
    "Earlier",
    "EntropyDiversity",
    "Hierarchy",
    "Intersection",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "Model",
    "Order",
    "Prefix",
    "RecursiveDiversity",
    "Report",
    "Request",
    "Roles",
    "TCloseness",
    "TableSource",
    "Tree",
    "Wanted",
    "anonymise",
    "anonymise_source",
    "check",
    "load_hierarchies",
    "load_tree",
    "open_named",
    "open_source",
    "open_table",
    "parse_bands",
    "wanted_of",
    "writable",
]
