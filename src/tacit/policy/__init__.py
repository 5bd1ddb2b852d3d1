"""What the curator declares: tables, units, bounds, domains, analysts, budgets.

The keys of its file are listed in `tacit.policy.keys`. Not here, for it loads tomlkit: `tacit.policy.amend`.
"""

from tacit.policy.budget import Accounting, AnalystPolicy, BudgetPolicy, GroupPolicy
from tacit.policy.check import Finding, Severity, check_policy
from tacit.policy.column import ColumnPolicy
from tacit.policy.dataset import DatabaseSource, Dataset, FileSource, Source
from tacit.policy.domain import Domain, ListDomain, RangeDomain, TableDomain
from tacit.policy.draft import draft_policy
from tacit.policy.keys import keys_markdown
from tacit.policy.limits import LimitsPolicy
from tacit.policy.link import Link
from tacit.policy.load import load_policy, parse_policy, read_policy
from tacit.policy.model import Policy
from tacit.policy.names import fold
from tacit.policy.owners import Owner, identifiers, key_of, lookups, named_in, owner_of, root_of
from tacit.policy.resolve import resolve_types
from tacit.policy.table import Bounding, NullUnit, TablePolicy, UnitForm
from tacit.policy.text_format import TextFormat
from tacit.policy.types import ColumnType, Schema, Value
from tacit.policy.view import ViewPolicy
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
    "Severity",
    "Source",
    "TableDomain",
    "TablePolicy",
    "TextFormat",
    "UnitForm",
    "Value",
    "ViewPolicy",
    "check_policy",
    "draft_policy",
    "fold",
    "identifiers",
    "key_of",
    "keys_markdown",
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
