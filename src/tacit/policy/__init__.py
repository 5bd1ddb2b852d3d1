"""What the curator declares: tables, units, bounds, domains, analysts, budgets.

The keys of its file are listed in `tacit.policy.keys`. Not here, for it loads tomlkit: `tacit.policy.amend`.
"""

from tacit.policy.budget import Accounting, AnalystPolicy, BudgetPolicy, GroupPolicy
from tacit.policy.check import Finding, Severity, check_policy
from tacit.policy.draft import draft_policy
from tacit.policy.keys import keys_markdown
from tacit.policy.limits import LimitsPolicy
from tacit.policy.load import load_policy, parse_policy, read_policy
from tacit.policy.model import Policy
from tacit.policy.reading.names import fold
from tacit.policy.reading.types import ColumnType, Schema, Value
from tacit.policy.resolve import columns_of, declared_column, linked_keys, resolve_types
from tacit.policy.server import ServerPolicy
from tacit.policy.sources.dataset import DatabaseSource, Dataset, FileSource, Source
from tacit.policy.sources.text_format import TextFormat
from tacit.policy.tables.column import ColumnPolicy
from tacit.policy.tables.domain import Domain, ListDomain, RangeDomain, TableDomain
from tacit.policy.tables.link import Link
from tacit.policy.tables.owners import Owner, identifiers, key_of, lookups, named_in, owner_of, root_of
from tacit.policy.tables.table import Bounding, NullUnit, TablePolicy, UnitForm
from tacit.policy.tables.view import ViewPolicy
from tacit.policy.write import policy_text

__all__ = [
    "Accounting",
    "AnalystPolicy",
    "Bounding",
    "BudgetPolicy",
    "ColumnPolicy",
    "ColumnType",
    "DatabaseSource",
    "Dataset",
    "Domain",
    "FileSource",
    "Finding",
    "GroupPolicy",
    "LimitsPolicy",
    "Link",
    "ListDomain",
    "NullUnit",
    "Owner",
    "Policy",
    "RangeDomain",
    "Schema",
    "ServerPolicy",
    "Severity",
    "Source",
    "TableDomain",
    "TablePolicy",
    "TextFormat",
    "UnitForm",
    "Value",
    "ViewPolicy",
    "check_policy",
    "columns_of",
    "declared_column",
    "draft_policy",
    "fold",
    "identifiers",
    "key_of",
    "keys_markdown",
    "linked_keys",
    "load_policy",
    "lookups",
    "named_in",
    "owner_of",
    "parse_policy",
    "policy_text",
    "read_policy",
    "resolve_types",
    "root_of",
]
