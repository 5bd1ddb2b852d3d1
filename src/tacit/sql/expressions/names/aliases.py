"""Names in generated queries: every alias is one that nobody else can write, and every column says whose it is.

A name that an analyst or a policy chose could be read as an alias of ours (DuckDB takes a bare `s` for the whole row of
what is called s), as a lateral alias, or as another name that an engine cuts or folds to the same one. So all such
names end here. What leaves `qualified` has names of two kinds alone: ours, and those of the source's own tables and
columns, the latter always behind the alias of their table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy.reading.names import RESERVED
from tacit.sql.expressions.names.unread import OUTSIDE, leave_out_unread, output_name, own_parts


@dataclass(frozen=True, slots=True)
class _Source:
    """What stands after FROM: what we call it, and its columns by the names they had; None for a table's own."""

    alias: str
    columns: Mapping[str, str] | None = None

    def named(self, column: str) -> exp.Identifier:
        if self.columns is None:
            return exp.Identifier(this=column, quoted=True)
        if column not in self.columns:
            raise _unknown()
        return exp.to_identifier(self.columns[column])


@dataclass(frozen=True, slots=True)
class _Frame:
    """The sources of one select, by the aliases they had, and the select around it."""

    sources: Mapping[str, _Source]
    around: _Frame | None = None

    def only(self) -> _Source:
        """Its one source: a bare name is a column of it, and of nothing else."""
        if len(self.sources) != 1:
            raise _unknown()
        return next(iter(self.sources.values()))

    def find(self, alias: str) -> _Source:
        frame: _Frame | None = self
        while frame is not None:
            if alias in frame.sources:
                return frame.sources[alias]
            frame = frame.around
        raise _unknown()


def _own_alias(name: str) -> exp.Identifier:
    """One of our own aliases, which needs no quotes."""
    return exp.Identifier(this=name, quoted=False)


def qualified(tree: exp.Select) -> exp.Select:
    """The same query, changed in place: aliases of our own, columns qualified. What it returns keeps its names.

    A bare name must be a column of the one source of its select. A qualified one is of the nearest source of that
    alias; OUTSIDE is the one source of the select around. Nothing is ever looked up by what a name might also mean.
    Subqueries list what is read of them, and no more (`unread`).
    """
    _Naming().select(tree, around=None, common={}, keep=True)
    return tree


@dataclass(slots=True)
class _Naming:
    """Gives every source of a tree an alias of its own, and its columns with it."""

    count: int = 0

    def alias(self) -> str:
        self.count += 1
        return f"{RESERVED}{self.count}"

    def query(
        self, node: exp.Expression, *, around: _Frame | None, common: Mapping[str, _Source], keep: bool
    ) -> list[tuple[str, str]]:
        """Rename a query, and return what its columns were and are called."""
        if isinstance(node, exp.Subquery):
            return self.query(node.this, around=around, common=common, keep=keep)
        if isinstance(node, exp.SetOperation):
            self.query(node.expression, around=around, common=common, keep=keep)
            return self.query(node.this, around=around, common=common, keep=keep)
        if not isinstance(node, exp.Select):
            raise _unknown()
        return self.select(node, around=around, common=common, keep=keep)

    def select(
        self, node: exp.Select, *, around: _Frame | None, common: Mapping[str, _Source], keep: bool
    ) -> list[tuple[str, str]]:
        own = own_parts(node)
        leave_out_unread(node, own)
        common = self._common(node, common)
        frame = _Frame(self._sources(node, common), around)
        before = [output_name(item) for item in node.expressions]
        for part in own:
            if isinstance(part, exp.Column):
                _qualify(part, frame)
            else:
                self.query(part, around=frame, common=common, keep=False)
        return _outputs(node, before, keep=keep)

    def _common(self, node: exp.Select, common: Mapping[str, _Source]) -> dict[str, _Source]:
        """What WITH names. Each sees those before it, and none itself."""
        sources = dict(common)
        clause = node.args.get("with_")
        for cte in clause.expressions if clause is not None else ():
            columns = dict(self.query(cte.this, around=None, common=sources, keep=False))
            sources[cte.alias] = _Source(self.alias(), columns)
            cte.set("alias", exp.TableAlias(this=_own_alias(sources[cte.alias].alias)))
        return sources

    def _sources(self, node: exp.Select, common: Mapping[str, _Source]) -> dict[str, _Source]:
        sources: dict[str, _Source] = {}
        for holder in (node.args["from_"], *(node.args.get("joins") or ())):
            old = holder.this.alias_or_name
            if old in sources:
                raise _unknown()
            sources[old] = self._source(holder.this, common)
        return sources

    def _source(self, node: exp.Expression, common: Mapping[str, _Source]) -> _Source:
        if isinstance(node, exp.Table):
            known = None if node.this.quoted else common.get(node.name)
            if known is not None:
                node.set("this", _own_alias(known.alias))
            source = _Source(self.alias(), None if known is None else known.columns)
        else:
            columns = dict(self.query(node, around=None, common=common, keep=False))
            source = _Source(self.alias(), columns)
        node.set("alias", exp.TableAlias(this=_own_alias(source.alias)))
        return source


def _qualify(column: exp.Column, frame: _Frame) -> None:
    table, this = column.args.get("table"), column.args["this"]
    alias = None if not table else table.args["this"] if type(table) is exp.Identifier else column.table
    if not alias:
        source = frame.only()
    elif alias == OUTSIDE:
        if frame.around is None:
            raise _unknown()
        source = frame.around.only()
    else:
        source = frame.find(alias)
    column.set("this", source.named(this.args["this"] if type(this) is exp.Identifier else column.name))
    column.set("table", _own_alias(source.alias))


def _outputs(node: exp.Select, before: list[tuple[str, bool] | None], *, keep: bool) -> list[tuple[str, str]]:
    """Name what is selected: as it was where it leaves the query, else by a name of our own."""
    listed: list[exp.Expression] = []
    names: list[tuple[str, str]] = []
    for index, (item, old) in enumerate(zip(node.expressions, before, strict=True)):
        if old is None:
            listed.append(item)
            continue
        was, quoted = old
        name = was if keep else f"{RESERVED}c{index}" if quoted else f"{RESERVED}{was}"
        inner = item.this if isinstance(item, exp.Alias) else item
        if not (isinstance(inner, exp.Column) and inner.name == name):
            alias = exp.Identifier(this=name, quoted=quoted) if keep else exp.to_identifier(name)
            inner = exp.Alias(this=inner, alias=alias)
        listed.append(inner)
        names.append((was, name))
    node.set("expressions", listed)
    return names


def _unknown() -> QueryRefused:
    """Never for what an analyst writes: names are resolved before. It is refused, at no charge, rather than guessed."""
    return QueryRefused("the question cannot be built: a name in it is not certain", hint="please report it")
