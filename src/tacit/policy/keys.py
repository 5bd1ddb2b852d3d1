"""Every key a policy may have: the one list behind unknown-key messages, written policies and the reference page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.policy.sources.engine_specs import ENGINES

NEEDED = "needed"


@dataclass(frozen=True, slots=True)
class PolicyKey:
    """A key, what may stand there, what holds if nothing does, and what it means."""

    name: str
    kind: str
    default: str
    meaning: str


DATASET = (
    PolicyKey(
        "name",
        "text",
        NEEDED,
        "the dataset; its account in the ledger goes by this name, whatever the files are called",
    ),
    PolicyKey("source", "text or table", NEEDED, "one database, or a file for each table; relative to the policy"),
    PolicyKey("engine", "text", '"duckdb"', f"what reads the source: {', '.join(f'`{name}`' for name in ENGINES)}"),
    PolicyKey(
        "adjacency", "text", '"add/remove"', 'neighbours differ by one unit added or removed, or by one "replace"d'
    ),
    PolicyKey(
        "data_version", "text", '"1"', "change it when the data change: answers kept from older data are not reused"
    ),
    PolicyKey("ledger", "text", '"<name>.ledger"', "the file of debits, relative to the policy; or `postgresql://…`"),
    PolicyKey(
        "keep_words",
        "true or false",
        "false",
        "the ledger keeps analysts' own words beside each question's canonical form",
    ),
)
BUDGET = (
    PolicyKey("epsilon", "number", NEEDED, "what all analysts together may spend, ever"),
    PolicyKey("delta", "number", "0", "the same for delta; without it no keys can be discovered by GROUP BY"),
    PolicyKey("accounting", "text", "by delta", '"pure", "approximate", "zcdp" or "pld": how losses add up'),
    PolicyKey("grain", "number", "none", 'with "pld": the epsilon of an everyday question, which costs one grain'),
    PolicyKey("max_epsilon", "number", "epsilon", "the most one question may cost"),
    PolicyKey("default_epsilon", "number", "none", "what a plain SELECT costs; without it the question must say"),
    PolicyKey("default_delta", "number", "none", "the delta of a question that states none"),
    PolicyKey("reuse", "true or false", "true", "a question already answered costs nothing"),
    PolicyKey("share_answers", "true or false", "true", "an answer one analyst paid for may be reused by another"),
)
LIMITS = (
    PolicyKey(
        "timeout",
        "span of time",
        '"10m"',
        "the most one statement of a question may take; what is cut short stays charged, and that it was is a release",
    ),
    PolicyKey(
        "memory",
        "text",
        "half of the machine's",
        'what the engine may hold, as "4GB": DuckDB and SQLite in all, PostgreSQL in each step (`work_mem`)',
    ),
    PolicyKey("threads", "whole number", "all", "how many the engine may use at once"),
)
SERVER = (
    PolicyKey(
        "host", "text", '"127.0.0.1"', "the address that `tacit serve` listens on; others than this machine's get TLS"
    ),
    PolicyKey(
        "http_port", "whole number", "8080", "the port of the HTTP API and of the web console; 0 takes any that is free"
    ),
    PolicyKey("pg_port", "whole number", "5433", "the port of the PostgreSQL wire"),
    PolicyKey(
        "names", "list of text", "none", "names by which clients call this host; a request for another is refused"
    ),
    PolicyKey("certificate", "text", "self-made", "the file of the TLS certificate (PEM), relative to the policy"),
    PolicyKey("key", "text", "self-made", "the file of its key"),
    PolicyKey(
        "slot_ms",
        "whole number",
        "none",
        "an answer or error leaves only after a whole number of slots of so many milliseconds: time tells no more",
    ),
    PolicyKey("workers", "whole number", "16", "questions that run at once"),
    PolicyKey("processes", "whole number", "1", "processes that answer them; `tacit serve --workers` says otherwise"),
    PolicyKey("per_analyst", "whole number", "12", "questions of one analyst that run at once"),
    PolicyKey("queue", "whole number", "100", "questions of one analyst that may wait for their turn"),
    PolicyKey("rate", "whole number", "60000", "requests of one analyst in a minute"),
    PolicyKey(
        "surveys",
        "list of text",
        "none",
        "files of surveys, relative to the policy, whose pages and reports `tacit serve` takes in at `/surveys/…/`",
    ),
    PolicyKey("survey_rate", "whole number", "60", "reports of one address in an hour; 0: any number"),
    PolicyKey("connection_epsilon", "number", "none", "what one connection or one conversation may spend"),
    PolicyKey(
        "idle", "span of time", '"10m"', "an HTTP connection or a conversation that says nothing for so long is closed"
    ),
    PolicyKey(
        "connection_idle", "span of time", '"8h"', "a PostgreSQL connection that asks nothing for so long is closed"
    ),
    PolicyKey(
        "patience",
        "span of time",
        '"30s"',
        "how long anybody may take to prove who they are, to send a request, or to take an answer",
    ),
    PolicyKey("drain", "span of time", '"30s"', "how long a server that is told to stop waits for what is running"),
)
ANALYST = (
    PolicyKey(
        "epsilon", "number", "the groups'", "what this analyst may spend; the total caps it, so it may be larger"
    ),
    PolicyKey("delta", "number", "the total's", "the same for delta"),
    PolicyKey("groups", "list of text", "none", "the groups whose caps the analyst shares"),
    PolicyKey(
        "window",
        "span of time",
        "never",
        'such as "30d": after it the analyst\'s own cap is whole again; the total is not',
    ),
)
GROUP = (
    PolicyKey("epsilon", "number", NEEDED, "what the members may spend together"),
    PolicyKey("delta", "number", "the total's", "the same for delta"),
)
TABLE = (
    PolicyKey(
        "unit",
        "text",
        "needed unless public",
        'the column whose owner is hidden, "row" if each row is a person, or a link: "patient_id -> patients.id"',
    ),
    PolicyKey(
        "units",
        "list of two columns",
        "none",
        'in place of `unit`: each row has two owners, as in ["rider", "driver"], and both are hidden. Needs a delta',
    ),
    PolicyKey("public", "true or false", "false", "nobody in the table is hidden; it then has no unit"),
    PolicyKey("null_unit", "text", '"drop"', 'rows whose unit is NULL are dropped, or are "one" unit together'),
    PolicyKey("unit_form", "text", '"exact"', 'when two identifiers are one: "exact", "trim", "lower" or "trim-lower"'),
    PolicyKey("max_groups", "whole number", "unknown", "groups a unit may touch; without it GROUP BY is refused"),
    PolicyKey(
        "max_rows",
        "whole number",
        "unknown",
        "rows of a unit counted in one group; without it COUNT(*) and SUM are refused. "
        "With `units`: rows of two people together, over all groups",
    ),
    PolicyKey("max_distinct", "whole number", "unknown", "values of a unit counted by COUNT(DISTINCT x)"),
    PolicyKey(
        "max_partners",
        "whole number",
        "needed with units",
        "people with whom nearly everybody has rows, at most; of more than about so many, the others do not count",
    ),
    PolicyKey(
        "max_hubs",
        "whole number",
        "0",
        "with `units`: how many people may have more partners than that, before answers are withheld",
    ),
    PolicyKey(
        "bounding", "text", '"auto"', '"sample" drops what is over the caps, "weigh" scales it down, "auto" errs least'
    ),
    PolicyKey(
        "rows",
        "whole number",
        "unknown",
        "about how many rows there are, as anybody may know: EXPLAIN and WITHIN reckon with it; it bounds nothing",
    ),
    PolicyKey(
        "rules", "list of texts", "none", "conditions on columns that every synthetic row keeps, such as age >= 18"
    ),
    PolicyKey(
        "public_totals",
        "text",
        "none",
        'numbers of rows that leave exactly, outside any epsilon: "*" is that of the table, a level of a hierarchy '
        'those of its places. Needs adjacency = "replace" and unit = "row"',
    ),
    PolicyKey(
        "cut",
        "table",
        "unknown",
        "{ rows, units, measured }: what share the bounds cut, as `tacit calibrate TABLE.cut` found; answers say so",
    ),
    PolicyKey("description", "text", "none", "shown to analysts"),
    PolicyKey(
        "format",
        "table",
        "fixed",
        'how CSV and JSON are read, e.g. { delimiter = ";", date = "%d/%m/%Y" }; also quote, encoding, decimal, '
        "timestamp, newlines, lines. Never guessed from the rows",
    ),
    PolicyKey("columns", "table", "none", "the columns analysts may use; others do not exist for them"),
)
COLUMN = (
    PolicyKey(
        "type",
        "text",
        "the source's; in CSV and JSON text",
        '"integer", "number", "text", "boolean", "date" or "timestamp"',
    ),
    PolicyKey(
        "lower", "number or date", "unknown", "values below are clamped to it; without bounds a column is not summed"
    ),
    PolicyKey("upper", "number or date", "unknown", "values above are clamped to it"),
    PolicyKey(
        "step",
        "number or span",
        "1 if whole",
        'the grid values are rounded to: 0.01, or "1d"; dates count from 1970-01-01',
    ),
    PolicyKey(
        "domain",
        "list, text or table",
        "private",
        '["a", "b"], "range" (the grid), or { table = "cities", column = "name" }',
    ),
    PolicyKey("null", "value", '"skip"', "what NULL counts as"),
    PolicyKey("nan", "number", "nearest 0", "what NaN counts as; it lies within the bounds. Infinities are clamped"),
    PolicyKey(
        "unit_total", "table", "none", "{ lower, upper }: bounds of what a unit's values may sum up to in one group"
    ),
    PolicyKey("description", "text", "none", "shown to analysts"),
    PolicyKey("hidden", "true or false", "false", "analysts may not use the column, as if it were not named"),
)
VIEW = (
    PolicyKey("query", "text", NEEDED, "the SELECT that the name stands for, over tables and other views"),
    PolicyKey("description", "text", "none", "shown to analysts"),
)
SECTIONS: Mapping[str, tuple[PolicyKey, ...]] = {
    "dataset": DATASET,
    "budget": BUDGET,
    "limits": LIMITS,
    "server": SERVER,
    "analysts.NAME": ANALYST,
    "groups.NAME": GROUP,
    "tables.NAME": TABLE,
    "tables.NAME.columns.COLUMN": COLUMN,
    "views.NAME": VIEW,
}
# words of other systems, or of habit, for which no spelling distance helps
SYNONYMS = {
    "private": "hidden",
    "min": "lower",
    "max": "upper",
    "precision": "step",
    "values": "domain",
    "eps": "epsilon",
    "privacy_unit": "unit",
    "path": "source",
}


def names_of(keys: tuple[PolicyKey, ...]) -> tuple[str, ...]:
    """The keys' names, in the order they are documented and written."""
    return tuple(key.name for key in keys)


def keys_markdown() -> str:
    """The reference page's tables, one for each section."""
    parts = []
    for section, keys in SECTIONS.items():
        rows = [f"| `{key.name}` | {key.kind} | {key.default} | {key.meaning} |" for key in keys]
        parts.append(
            "\n".join([f"### `[{section}]`", "", "| key | what | default | meaning |", "|---|---|---|---|", *rows])
        )
    return "\n\n".join(parts) + "\n"
