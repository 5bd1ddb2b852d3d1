"""A subquery after FROM, or a CTE: rows that still belong to one unit each, with bounds carried along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tacit.errors import QueryRefused, UnknownName
from tacit.policy import Owner, fold
from tacit.policy.reading.names import is_column_name
from tacit.sql.expressions.logic import filtering
from tacit.sql.expressions.names.nodes import aliased, paren, quoted_column
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import Scope, ScopeSource, bare, name_of
from tacit.sql.expressions.names.spoken import clause_named
from tacit.sql.expressions.predicates import predicate
from tacit.sql.relations.correlating.together import read_together
from tacit.sql.relations.deriving.columns import AGGREGATES, Columns, DerivedColumn, folded
from tacit.sql.relations.joining.parts import OWNER, NamedTable, key_column, with_columns
from tacit.sql.relations.relation import Relation
from tacit.sql.rules import GRID_RULES, Facts, apply, grids_of


@dataclass(slots=True)
class Derivation:
    """Works out the columns of one subquery over its relation."""

    select: exp.Select
    relation: Relation
    scope: Scope
    alias: str
    columns: list[DerivedColumn] = field(default_factory=list)
    keys: dict[str, tuple[str, Owner]] = field(default_factory=dict)  # by output name, folded
    hidden: set[str] = field(default_factory=set)  # columns that HAVING needs and nobody asked for

    @property
    def _maker(self) -> Columns:
        return Columns(self.scope, self.relation)

    def part(self) -> NamedTable:
        """The subquery as a part of the query around it."""
        nodes = self._nodes()
        grouped = self._grouped(nodes)
        self._refuse_ungrouped(nodes, grouped)
        for name, node in nodes:
            self._add(name, node, grouped=grouped is not None)
        having = self._having(nodes)
        rows = self._held(self._rows(grouped), having)
        shown = [column for column in self.columns if column.policy.name not in self.hidden]
        table = with_columns(self.relation.table, tuple(column.policy for column in shown))
        if not table.public and grouped is not None and all(self._is_owner(node) for node in grouped):
            table = replace(table, max_rows=1, max_groups=1)
        types = {column.policy.name: column.sql_type for column in shown}
        keys = {name: owner for name, (_, owner) in self.keys.items()}
        listed = tuple(fold(name) for name, _ in nodes)
        tied = self.relation.tied
        part = NamedTable(self.alias, table, types, table.columns, keys, self._owner(), rows, listed, tied=tied)
        return replace(part, growth=self.relation.growth, unique=self._unique(grouped, nodes))

    def _unique(
        self, grouped: list[exp.Expression] | None, nodes: list[tuple[str, exp.Expression]]
    ) -> frozenset[str] | None:
        """The columns, beside the owner, whose values no two rows of an owner share; None where nothing says so."""
        if grouped is None:
            return None
        shown = {self._signature(node): fold(name) for name, node in nodes}
        others = [self._signature(node) for node in grouped if not self._is_owner(node)]
        return frozenset(shown[each] for each in others) if all(each in shown for each in others) else None

    def _owner(self) -> Owner | None:
        owner = self.relation.owner
        if owner is None and not self.relation.table.public:
            raise QueryRefused(
                "a subquery over a table whose every row is a unit is refused", hint="ask the table directly"
            )
        return owner

    def _nodes(self) -> list[tuple[str, exp.Expression]]:
        """The select list, with * written out."""
        nodes: list[tuple[str, exp.Expression]] = []
        for item in self.select.expressions:
            node = item.this if isinstance(item, exp.Alias) else item
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                nodes += self._all(node)
            else:
                name = item.alias if isinstance(item, exp.Alias) else node.name if isinstance(node, exp.Column) else ""
                nodes.append((name or text_of(node, comments=False).lower().replace('"', "")[:60].strip(), node))
        return nodes

    def _all(self, star: exp.Expression) -> list[tuple[str, exp.Expression]]:
        of = star.args.get("table")
        stars = [node for node in star.walk() if isinstance(node, exp.Star)]
        if any(value for node in stars for name, value in node.args.items() if name not in {"except_", "replace"}):
            raise QueryRefused("* with RENAME is refused", hint="list the columns")
        left_out = {fold(name.name) for node in stars for name in node.args.get("except_") or ()}
        instead = {fold(each.alias): each.this for node in stars for each in node.args.get("replace") or ()}
        nodes: list[tuple[str, exp.Expression]] = []
        seen: list[Mapping[str, str]] = []
        for source in self.scope.sources:  # one table may go by two names
            if (of is None and source.columns not in seen) or (of is not None and fold(of.name) == fold(source.alias)):
                seen.append(source.columns)
                names = [name for name in dict.fromkeys((*source.keys, *source.columns)) if name not in left_out]
                own = {name: exp.column(name, table=source.alias, quoted=True) for name in names}
                nodes += [(name, instead.get(name, column)) for name, column in own.items()]
        if unknown := next((name for name in instead if name not in dict(nodes)), None):
            raise UnknownName(f"there is no column {unknown[:60]} to REPLACE in *", hint="name it beside *, with AS")
        return nodes

    def _grouped(self, nodes: list[tuple[str, exp.Expression]]) -> list[exp.Expression] | None:
        """What the rows are grouped by; None where each row stays a row."""
        group = self.select.args.get("group")
        aggregates = [node for _, node in nodes if _aggregates(node)]
        if self.select.args.get("distinct"):
            if group is not None or aggregates or self.select.args["distinct"].args.get("on"):
                raise QueryRefused("DISTINCT beside GROUP BY or aggregates is refused in a subquery")
            keys = [node for _, node in nodes]
        elif group is not None:
            keys = [self._meant(node, nodes) for node in group.expressions]
            extra = [name for name, value in group.args.items() if value and name != "expressions"]
            if extra:
                raise QueryRefused(
                    f"{clause_named(extra[0])} is refused in a subquery's GROUP BY", hint="write out what it groups by"
                )
        elif aggregates:
            keys = []
        else:
            return None
        if not self.relation.table.public and not any(self.scope.key(node) for node in keys):
            unit = self.relation.table.unit_column
            raise QueryRefused(
                "a subquery would mix the rows of several units: only what leaves tacit may do that, with noise",
                hint=f"group the subquery by {unit}, or ask for its number first and write it as a constant",
            )
        return keys

    def _refuse_ungrouped(self, nodes: list[tuple[str, exp.Expression]], grouped: list[exp.Expression] | None) -> None:
        """What is neither grouped nor aggregated has no one value in a group; an engine would say so, at a charge."""
        known = {self._signature(node) for node in grouped or ()}
        for name, node in nodes if grouped is not None else ():
            other = next((each for each in bare(node).find_all(exp.AggFunc) if not isinstance(each, AGGREGATES)), None)
            if other is not None and not isinstance(bare(node), exp.Window):
                raise QueryRefused(
                    f"{name_of(other)} is refused in a subquery",
                    hint="COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE_CONT, STDDEV and VARIANCE are allowed there",
                )
            alone = not bare(node).find(*AGGREGATES) and not self.scope.is_constant(bare(node))
            if alone and self._signature(node) not in known:
                raise QueryRefused(
                    f"{name[:60]} is neither grouped nor aggregated in the subquery",
                    hint=f"add it to GROUP BY, or write MAX({name[:60]})",
                )

    def _signature(self, node: exp.Expression) -> str:
        node = bare(node)
        owner = self.scope.key(node)
        if owner is not None:
            return owner[0]
        copy = copied(node)
        for column in [each for each in copy.walk() if isinstance(each, exp.Column)]:
            column.set("this", exp.to_identifier(self.scope.known_as(column), quoted=True))
            column.set("table", None)
        return text_of(copy, comments=False)

    def _meant(self, node: exp.Expression, nodes: list[tuple[str, exp.Expression]]) -> exp.Expression:
        if isinstance(node, exp.Literal) and str(node.this).isdigit() and 1 <= int(node.this) <= len(nodes):
            return nodes[int(node.this) - 1][1]
        if isinstance(node, exp.Column) and not node.table and not self._is_known(node):
            for name, meant in nodes:
                if fold(name) == fold(node.name):
                    return meant
        return node

    def _is_known(self, node: exp.Column) -> bool:
        """Whether a name is a column of the tables: then an alias of the select list does not hide it."""
        return self.scope.key(node) is not None or any(fold(node.name) in s.columns for s in self.scope.sources)

    def _is_owner(self, node: exp.Expression) -> bool:
        owner = self.scope.key(node)
        return owner is not None and self.relation.owner is not None and owner[1] == folded(self.relation.owner)

    def _add(self, name: str, node: exp.Expression, *, grouped: bool) -> None:
        owner = self.scope.key(bare(node))
        if fold(name) in self.keys or any(fold(column.policy.name) == fold(name) for column in self.columns):
            raise QueryRefused(f"a subquery has two columns {name[:60]}", hint="write … AS another name")
        if owner is not None:
            self.keys[fold(name)] = owner
            return
        if not is_column_name(name):
            raise QueryRefused("a column of a subquery needs a plain name", hint="write … AS name")
        make = self._maker.aggregated if grouped else self._maker.computed
        self.columns.append(make(name, bare(node)))

    def _rows(self, grouped: list[exp.Expression] | None) -> exp.Select:
        """The subquery itself, rebuilt."""
        listed = [aliased(column.sql, column.policy.name) for column in self.columns]
        keyed = [aliased(self._maker.key_sql(internal), key_column(name)) for name, (internal, _) in self.keys.items()]
        owners = [] if self.relation.table.public else [self.relation.unit]
        rows = exp.select(*(aliased(owner, OWNER) for owner in owners), *keyed, *listed)
        rows = rows.from_(copied(self.relation.sql), copy=False)
        for owner in owners:
            rows = rows.where(exp.Not(this=exp.Is(this=copied(owner), expression=exp.null())), copy=False)
        if self.relation.remaining is not None:
            held = filtering(predicate(self.relation.remaining, self.scope))
            rows = rows.where(paren(read_together(held)), copy=False)
        if grouped is not None:  # a constant makes no groups, and a number there would be the place of a column
            asked = [self._group_sql(node) for node in grouped if not self.scope.is_constant(bare(node))]
            rows = rows.group_by(*(copied(owner) for owner in owners), *asked, copy=False)
        facts = Facts(grids=grids_of(self.relation.table, self.relation.sql_types))
        return apply(GRID_RULES, copied(rows), facts=facts)  # in place, and others may hold what it is made of

    def _having(self, nodes: list[tuple[str, exp.Expression]]) -> exp.Expression | None:
        """HAVING, with every aggregate in it replaced by a column of this subquery."""
        clause = self.select.args.get("having")
        if clause is None:
            return None
        written = {text_of(node): name for name, node in nodes}
        condition: exp.Expression = copied(clause.this)
        for node in [inner for inner in condition.walk() if isinstance(inner, AGGREGATES)]:
            name = written.get(text_of(node))
            if name is None:
                name = f"having {len(self.columns)}"
                self._add(name, node, grouped=True)
                self.hidden.add(name)
            node.replace(quoted_column(name))
        return condition

    def _held(self, rows: exp.Select, having: exp.Expression | None) -> exp.Select:
        if having is None:
            return rows
        table = with_columns(self.relation.table, tuple(column.policy for column in self.columns))
        types = {column.policy.name.casefold(): column.sql_type for column in self.columns}
        source = ScopeSource(self.alias, {fold(column.policy.name): column.policy.name for column in self.columns})
        held = predicate(having, Scope(table, (source,), self.scope.parameters, types))
        names = [item.alias for item in rows.expressions if item.alias not in self.hidden]
        listed = [quoted_column(name) for name in names]
        inner = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("grouped")))
        kept = exp.select(*listed).from_(inner, copy=False).where(copied(held), copy=False)
        return apply(GRID_RULES, kept, facts=Facts(grids=grids_of(table, types)))

    def _group_sql(self, node: exp.Expression) -> exp.Expression:
        owner = self.scope.key(bare(node))
        if owner is not None:
            return self._maker.key_sql(owner[0])
        if isinstance(bare(node), exp.Window):
            raise QueryRefused("GROUP BY a window is refused", hint="nest one subquery in another")
        return copied(self._maker.computed("key", bare(node)).sql)


def _aggregates(node: exp.Expression) -> bool:
    """Whether an aggregate over groups stands in an expression: one in a window is over the unit's own rows."""
    nodes = node.walk(prune=lambda each: isinstance(each, exp.Window))
    return any(isinstance(each, AGGREGATES) for each in nodes)


def ctes_of(select: exp.Query) -> list[exp.CTE]:
    """The subqueries that WITH names, in their order."""
    clause = select.args.get("with_")
    if clause is None:
        return []
    if clause.args.get("recursive"):
        raise QueryRefused(
            "WITH RECURSIVE is refused: how much one unit brings could not be bounded",
            hint="leave RECURSIVE out where nothing in it reads itself; or write out as many levels as are needed",
        )
    return list(clause.expressions)
