"""What no question counts, in numbers: for `tacit check` alone, since the numbers are the rows' own."""

from __future__ import annotations

from tacit.engines import Engine
from tacit.policy import Finding, Policy, Severity, resolve_types
from tacit.sql.planning.left_out import COUNT, LeftOut, left_out


def rows_left_out(policy: Policy, engine: Engine) -> list[Finding]:
    """A finding for each table and column whose rows are not all counted."""
    schema = engine.schema()
    findings = (
        _finding(each, engine) for each in left_out(resolve_types(policy, schema), schema, dialect=engine.dialect)
    )
    return [finding for finding in findings if finding is not None]


def _finding(asked: LeftOut, engine: Engine) -> Finding | None:
    total, kept, empty = (int(engine.execute(sql).integers(COUNT)[0]) for sql in (asked.total, asked.kept, asked.empty))
    if kept >= total:
        return None
    share = f"{total - kept:,} of {total:,} rows"
    if asked.column is None:
        others = "" if empty == total - kept else f", {empty:,} of them NULL"
        why = f"{share} belong to nobody{others}: no question counts them"
        hint = 'null_unit = "one" counts NULL as one unit' if asked.key == "unit" else "see where one of them is NULL"
        return Finding(Severity.WARNING, ("tables", asked.table, asked.key), why, hint)
    path = ("tables", asked.table, "columns", asked.column, "domain")
    others = f"NULL in {empty:,}" if empty else "never NULL"
    why = f"{share} have none of the public values ({others}): no question that is grouped by it counts them"
    return Finding(Severity.WARNING, path, why, "list what is missing, or say what NULL counts as")
