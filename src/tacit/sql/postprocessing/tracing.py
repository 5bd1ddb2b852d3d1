"""Where the columns of what is computed come from: keys, which noise does not move, or numbers as released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tacit.policy import fold
from tacit.sql.binding.aggregates import is_aggregate
from tacit.sql.postprocessing.blocks import inner_query, is_aggregated, named_in, sources_of
from tacit.sql.postprocessing.splitting import answer_name, column_name

_RANKS = (exp.Rank, exp.DenseRank, exp.RowNumber, exp.Ntile)


@dataclass(frozen=True, slots=True)
class Trace:
    """One column: whether it is free of noise (for a given row), and the answer's column that it is, if it is one."""

    name: str
    clean: bool = False
    cell: tuple[int, int] | None = None
    ranks: bool = False  # whether it is a place in an order
    type: str = ""  # as DuckDB calls it, once it was computed


Columns = list[Trace]
Sources = Mapping[str, Columns]


def traces_of(
    tree: exp.Expr, answers: Sequence[Sequence[bool]], public: Mapping[str, Sequence[str]]
) -> tuple[Trace, ...] | None:
    """The columns of a query over answers; None where that is not known. `answers` says which columns are keys."""
    known: dict[str, Columns] = {
        fold(table): [Trace(name, clean=True) for name in names] for table, names in public.items()
    }
    for index, keys in enumerate(answers):
        listed = [Trace(column_name(i), clean=key, cell=(index, i)) for i, key in enumerate(keys)]
        known[fold(answer_name(index))] = listed
    traces = _query(tree, known)
    return None if traces is None else tuple(traces)


def _query(node: exp.Expr, known: Sources) -> Columns | None:
    query = inner_query(node)
    inside = dict(known)
    for name, block in named_in(query, {}).items():
        columns = _query(block.tree, inside)
        names = [column.name for column in block.clause.args["alias"].columns] if block.clause is not None else []
        inside.pop(name, None)
        if columns is not None and not names:
            inside[name] = columns
    if isinstance(query, exp.SetOperation):
        one, two = _query(query.this, inside), _query(query.expression, inside)
        if one is None or two is None or len(one) != len(two):
            return None
        return [Trace(a.name, a.clean and b.clean) for a, b in zip(one, two, strict=True)]
    return _select(query, inside) if isinstance(query, exp.Select) else None


def _select(select: exp.Select, known: Sources) -> Columns | None:
    sources: dict[str, Columns] = {}
    for node in sources_of(select):
        columns = _query(node, known) if isinstance(node, exp.Query) else known.get(fold(node.name))
        aliased = isinstance(node.args.get("alias"), exp.TableAlias) and node.args["alias"].columns
        if columns is None or node.args.get("pivots") or aliased:
            return None
        sources[fold(node.alias_or_name) or f" {len(sources)}"] = columns
    merged = any(join.args.get("using") or join.args.get("method") for join in select.args.get("joins") or ())
    traces: Columns = []
    for item in select.expressions:
        node = item.this if isinstance(item, exp.Alias) else item
        star = isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))
        if star:
            if merged or any(inner.args.get(name) for inner in node.find_all(exp.Star) for name in inner.args):
                return None
            traces += _all(node, sources)
        else:
            traces.append(replace(_expression(node, sources), name=item.alias_or_name))
    if is_aggregated(select) or select.args.get("distinct"):
        return [replace(trace, cell=None) for trace in traces]
    return traces


def _all(star: exp.Expr, sources: Sources) -> Columns:
    table = star.args.get("table")
    return [each for name, columns in sources.items() if table is None or fold(table.name) == name for each in columns]


def _expression(node: exp.Expr, sources: Sources) -> Trace:
    if isinstance(node, exp.Column):
        return _column(node, sources)
    if isinstance(node, exp.Window):
        return Trace("", ranks=isinstance(node.this, _RANKS))
    nodes = list(node.walk())
    if any(isinstance(each, (exp.Query, exp.Window)) or is_aggregate(each) for each in nodes):
        return Trace("")
    return Trace("", clean=all(_column(each, sources).clean for each in nodes if isinstance(each, exp.Column)))


def _column(node: exp.Column, sources: Sources) -> Trace:
    name = fold(node.name)
    wanted = [columns for alias, columns in sources.items() if not node.table or alias == fold(node.table)]
    traces = [trace for columns in wanted for trace in columns if fold(trace.name) == name]
    if not traces:
        return Trace("")
    return traces[0] if len(traces) == 1 else Trace("", clean=all(each.clean for each in traces))
