"""k-anonymity and its family: make a table publishable, show what it costs and what it does not protect."""

from tacit.release.anonymise.checking import Audit, check
from tacit.release.anonymise.door import anonymise, anonymise_source
from tacit.release.anonymise.hierarchy import Bands, Calendar, Hierarchy, Order, Prefix, Tree
from tacit.release.anonymise.hierarchy_files import load_hierarchies, load_tree, parse_bands
from tacit.release.anonymise.releases import Earlier, Intersection
from tacit.release.anonymise.request import METHODS, Request, Roles, Wanted
from tacit.release.anonymise.result import Anonymised, Report, writable
from tacit.release.anonymise.source import Source, open_named, open_source, open_table

__all__ = [
    "METHODS",
    "Anonymised",
    "Audit",
    "Bands",
    "Calendar",
    "Earlier",
    "Hierarchy",
    "Intersection",
    "Order",
    "Prefix",
    "Report",
    "Request",
    "Roles",
    "Source",
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
    "writable",
]
