"""tacit: the trusted curator in front of a database.

    import tacit

    with tacit.open("tacit.toml", analyst="ana") as db:
        print(db.query("DP-SELECT 0.5 AVG(salary) FROM staff WHERE dept = ?", ["CS"]))

What is not needed is not loaded: names are fetched from their rooms when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tacit.errors import (
    AccessDenied,
    AnswerWithheld,
    BudgetExceeded,
    EngineError,
    InvalidParameter,
    LedgerError,
    NoiseUnavailable,
    Overloaded,
    PolicyError,
    QueryRefused,
    QuerySyntaxError,
    RequestConflict,
    ServerUnreachable,
    TacitError,
    UnboundedColumn,
    UnknownName,
)

if TYPE_CHECKING:
    from tacit import (
        accounting,
        attack,
        collect,
        core,
        curator,
        engines,
        learn,
        ledger,
        mechanisms,
        noise,
        policy,
        release,
        sql,
    )
    from tacit.core import Adjacency, Bounds, Budget, Loss, PrivacyUnit
    from tacit.curator import Explanation, Receipt, Release
    from tacit.curator.forms.batch_release import BatchRelease
    from tacit.faces import dbapi, owner
    from tacit.faces import survey as surveys
    from tacit.faces.budget_status import Account, BudgetStatus
    from tacit.faces.catalogue import Catalogue
    from tacit.faces.database import Database
    from tacit.faces.database import open_database as open  # noqa: A004 - tacit.open is the door's name
    from tacit.faces.notebook.magic import load_ipython_extension, unload_ipython_extension
    from tacit.policy import (
        Accounting,
        AnalystPolicy,
        BudgetPolicy,
        ColumnPolicy,
        Dataset,
        GroupPolicy,
        LimitsPolicy,
        ListDomain,
        Policy,
        RangeDomain,
        TableDomain,
        TablePolicy,
        load_policy,
        parse_policy,
        policy_text,
    )
    from tacit.release.anonymise import (
        AlphaAnonymity,
        BetaLikeness,
        DeltaPresence,
        EntropyDiversity,
        KAnonymity,
        KMap,
        LDiversity,
        RecursiveDiversity,
        TCloseness,
        anonymise,
    )

__version__: str

__all__ = [
    "AccessDenied",
    "Account",
    "Accounting",
    "Adjacency",
    "AlphaAnonymity",
    "AnalystPolicy",
    "AnswerWithheld",
    "BatchRelease",
    "BetaLikeness",
    "Bounds",
    "Budget",
    "BudgetExceeded",
    "BudgetPolicy",
    "BudgetStatus",
    "Catalogue",
    "ColumnPolicy",
    "Database",
    "Dataset",
    "DeltaPresence",
    "EngineError",
    "EntropyDiversity",
    "Explanation",
    "GroupPolicy",
    "InvalidParameter",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "LedgerError",
    "LimitsPolicy",
    "ListDomain",
    "Loss",
    "NoiseUnavailable",
    "Overloaded",
    "Policy",
    "PolicyError",
    "PrivacyUnit",
    "QueryRefused",
    "QuerySyntaxError",
    "RangeDomain",
    "Receipt",
    "RecursiveDiversity",
    "Release",
    "RequestConflict",
    "ServerPolicy",
    "ServerUnreachable",
    "TCloseness",
    "TableDomain",
    "TablePolicy",
    "TacitError",
    "UnboundedColumn",
    "UnknownName",
    "accounting",
    "anonymise",
    "attack",
    "collect",
    "core",
    "curator",
    "dbapi",
    "engines",
    "learn",
    "ledger",
    "load_ipython_extension",
    "load_policy",
    "mechanisms",
    "noise",
    "open",
    "owner",
    "parse_policy",
    "policy",
    "policy_text",
    "release",
    "sql",
    "surveys",
    "unload_ipython_extension",
]

_NAMES = {
    "tacit.core": ("Adjacency", "Bounds", "Budget", "Loss", "PrivacyUnit"),
    "tacit.curator.forms.batch_release": ("BatchRelease",),
    "tacit.curator": ("Explanation", "Receipt", "Release"),
    "tacit.faces.catalogue": ("Catalogue",),
    "tacit.faces.database": ("Database", "open"),
    "tacit.faces.notebook.magic": ("load_ipython_extension", "unload_ipython_extension"),
    "tacit.faces.budget_status": ("Account", "BudgetStatus"),
    "tacit.policy": (
        *("Accounting", "AnalystPolicy", "BudgetPolicy", "ColumnPolicy", "Dataset", "GroupPolicy", "ListDomain"),
        *(
            "LimitsPolicy",
            "Policy",
            "RangeDomain",
            "ServerPolicy",
            "TableDomain",
            "TablePolicy",
            "load_policy",
            "parse_policy",
            "policy_text",
        ),
    ),
    "tacit.release.anonymise": (
        *("AlphaAnonymity", "BetaLikeness", "DeltaPresence", "EntropyDiversity", "KAnonymity", "KMap", "LDiversity"),
        *("RecursiveDiversity", "TCloseness", "anonymise"),
    ),
}
_ROOMS = {
    name: f"tacit.{name}"
    for name in (
        *("accounting", "attack", "collect", "core", "curator", "engines", "learn", "ledger", "mechanisms", "noise"),
        *("policy", "release", "sql", "dbapi", "owner", "surveys"),
    )
}
_HOMES = {name: room for room, names in _NAMES.items() for name in names}
_INSIDE = {"open": "open_database"}  # what a name is called at home


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("tacit")
    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    member: object = getattr(import_module(_HOMES[name]), _INSIDE.get(name, name))
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
