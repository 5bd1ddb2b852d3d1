"""A subquery after FROM, or a CTE: rows that still belong to one unit each, with bounds carried along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from tacit.core import Bounds
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, ColumnType, ListDomain, Owner, RangeDomain, fold
from tacit.policy.domain import MAX_DOMAIN
from tacit.policy.names import is_column_name
from tacit.sql.cells import steps_type
from tacit.sql.grid import Grid, integer
from tacit.sql.keys import key
from tacit.sql.numbers import number
from tacit.sql.operands import operand
from tacit.sql.predicates import predicate
from tacit.sql.relations.parts import OWNER, Part, key_column
from tacit.sql.relations.relation import Relation
from tacit.sql.relations.windows import window
from tacit.sql.rules import GRID_RULES, Facts, apply, grids_of
from tacit.sql.scope import Scope, Source, bare, name_of

_AVERAGE = 1_000  # an average is rounded down to this part of its column's step
_WIDEST = 1 << 62  # steps of a unit's own sum
_SQL_TYPES = {
    ColumnType.TEXT: "varchar",
    ColumnType.INTEGER: "bigint",
    ColumnType.NUMBER: "double",
    ColumnType.BOOLEAN: "boolean",
    ColumnType.DATE: "date",
    ColumnType.TIMESTAMP: "timestamp",
}
_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)


@dataclass(frozen=True, slots=True)
class Made:
    """One column of a subquery."""

    sql: exp.Expression
    policy: ColumnPolicy
    sql_type: str


@dataclass(slots=True)
class Derivation:
    """Works out the columns of one subquery over its relation."""

    select: exp.Select
    relation: Relation
    scope: Scope
    alias: str
    columns: list[Made] = field(default_factory=list)
    keys: dict[str, tuple[str, Owner]] = field(default_factory=dict)  # by output name, folded
    hidden: set[str] = field(default_factory=set)  # columns that HAVING needs and nobody asked for

    def part(self) -> Part:
        """The subquery as a part of the query around it."""
        nodes = self._nodes()
        grouped = self._grouped(nodes)
        self._refuse_ungrouped(nodes, grouped)
        for name, node in nodes:
            self._add(name, node, grouped=grouped is not None)
        having = self._having(nodes)
        rows = self._held(self._rows(grouped), having)
        one_each = grouped is not None and all(self._is_owner(node) for node in grouped)
        shown = [made for made in self.columns if made.policy.name not in self.hidden]
        table = replace(
            self.relation.table,
            columns=tuple(made.policy for made in shown),
            unit=self.relation.table.unit,
            max_rows=1 if one_each else self.relation.table.max_rows,
            max_groups=1 if one_each else self.relation.table.max_groups,
        )
        types = {made.policy.name: made.sql_type for made in shown}
        keys = {name: owner for name, (_, owner) in self.keys.items()}
        return Part(
            self.alias, table, types, table.columns, keys, self._owner(), rows, tuple(fold(name) for name, _ in nodes)
        )

    def _owner(self) -> Owner:
        owner = self.relation.owner
        if owner is None:
            raise QueryRefused(
                "a subquery over a table whose every row is a unit is refused", hint="ask the table directly"
            )
        return owner

    def _nodes(self) -> list[tuple[str, exp.Expression]]:
        """The select list, with * written out."""
        found: list[tuple[str, exp.Expression]] = []
        for item in self.select.expressions:
            node = item.this if isinstance(item, exp.Alias) else item
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                found += self._all(node)
            else:
                name = item.alias if isinstance(item, exp.Alias) else node.name if isinstance(node, exp.Column) else ""
                found.append((name or node.sql(dialect="duckdb", comments=False).lower()[:60], node))
        return found

    def _all(self, star: exp.Expression) -> list[tuple[str, exp.Expression]]:
        of = star.args.get("table")
        stars = [node for node in star.walk() if isinstance(node, exp.Star)]
        if any(value for node in stars for value in node.args.values()):
            raise QueryRefused("* with EXCLUDE, REPLACE or RENAME is refused", hint="list the columns")
        found: list[tuple[str, exp.Expression]] = []
        seen: list[Mapping[str, str]] = []
        for source in self.scope.sources:  # one table may go by two names
            if (of is None and source.columns not in seen) or (of is not None and fold(of.name) == fold(source.alias)):
                seen.append(source.columns)
                names = dict.fromkeys((*source.keys, *source.columns))
                found += [(name, exp.column(name, table=source.alias, quoted=True)) for name in names]
        return found

    def _grouped(self, nodes: list[tuple[str, exp.Expression]]) -> list[exp.Expression] | None:
        """What the rows are grouped by; None where each row stays a row."""
        group = self.select.args.get("group")
        aggregates = [node for _, node in nodes if not isinstance(node, exp.Window) and node.find(*_AGGREGATES)]
        if self.select.args.get("distinct"):
            if group is not None or aggregates or self.select.args["distinct"].args.get("on"):
                raise QueryRefused("DISTINCT beside GROUP BY or aggregates is refused in a subquery")
            keys = [node for _, node in nodes]
        elif group is not None:
            keys = [self._meant(node, nodes) for node in group.expressions]
            extra = [name for name, value in group.args.items() if value and name != "expressions"]
            if extra:
                raise QueryRefused(f"{extra[0].upper()} is refused in a subquery's GROUP BY")
        elif aggregates:
            keys = []
        else:
            return None
        if not any(self.scope.key(node) for node in keys):
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
            alone = not bare(node).find(*_AGGREGATES) and not self.scope.is_constant(bare(node))
            if alone and self._signature(node) not in known:
                raise QueryRefused(
                    f"{name[:60]} is neither grouped nor aggregated in the subquery", hint="add it to GROUP BY"
                )

    def _signature(self, node: exp.Expression) -> str:
        node = bare(node)
        found = self.scope.key(node)
        if found is not None:
            return found[0]
        copy = node.copy()
        for column in [each for each in copy.walk() if isinstance(each, exp.Column)]:
            column.set("this", exp.to_identifier(self.scope.known_as(column), quoted=True))
            column.set("table", None)
        return copy.sql(dialect="duckdb", comments=False)

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
        found = self.scope.key(node)
        return found is not None and self.relation.owner is not None and found[1] == _folded(self.relation.owner)

    def _add(self, name: str, node: exp.Expression, *, grouped: bool) -> None:
        found = self.scope.key(bare(node))
        if fold(name) in self.keys or any(fold(made.policy.name) == fold(name) for made in self.columns):
            raise QueryRefused(f"a subquery has two columns {name[:60]}", hint="write … AS another name")
        if found is not None:
            self.keys[fold(name)] = found
            return
        if not is_column_name(name):
            raise QueryRefused("a column of a subquery needs a plain name", hint="write … AS name")
        self.columns.append(self._aggregated(name, bare(node)) if grouped else self._computed(name, bare(node)))

    def _computed(self, name: str, node: exp.Expression) -> Made:
        """A column, or what is computed from one row, or from its unit's rows."""
        if isinstance(node, exp.Window):
            return _in_steps(name, window(node, self.scope, self.relation))
        if isinstance(node, exp.Column):
            found, kind = self.scope.column(node)
            sql = exp.column(exp.to_identifier(found.name, quoted=True))
            return Made(sql, replace(found, name=name, type=kind), self.scope.sql_types.get(found.name.casefold(), ""))
        if operand(node, self.scope) is None and not isinstance(
            node, (exp.Case, exp.Predicate, exp.Connector, exp.Not)
        ):
            return _in_steps(name, number(node, self.scope, predicate=predicate))
        made = key(node, self.scope)
        if made.step is not None or made.kind is None:
            return _in_steps(name, number(node, self.scope, predicate=predicate))
        values = made.values if isinstance(made.values, tuple) else ()
        domain = ListDomain(tuple(value for value in values if value is not None)) if values else None
        return Made(made.sql, ColumnPolicy(name, type=made.kind, domain=domain), _SQL_TYPES[made.kind])

    def _aggregated(self, name: str, node: exp.Expression) -> Made:
        if isinstance(node, exp.Window):
            raise QueryRefused("a window beside GROUP BY is refused", hint="nest one subquery in another")
        if not isinstance(node, _AGGREGATES):
            if node.find(*_AGGREGATES):
                raise QueryRefused(
                    "arithmetic over aggregates is refused inside a subquery", hint="name each one, and compute outside"
                )
            return self._computed(name, node)
        if isinstance(node, exp.Count):
            return self._counted(name, node)
        if isinstance(node, (exp.Min, exp.Max)):
            return self._extreme(name, node)
        if isinstance(node.this, exp.Distinct):
            raise QueryRefused(f"DISTINCT is refused in {name_of(node)}")
        values = number(node.this, self.scope, predicate=predicate)
        cap = self.relation.table.max_rows
        if isinstance(node, exp.Avg):
            total = exp.Mul(
                this=exp.paren(exp.cast(exp.Sum(this=values.sql.copy()), "INT128")), expression=integer(_AVERAGE)
            )
            mean = exp.IntDiv(this=exp.paren(total), expression=exp.Count(this=values.sql.copy()))
            ends = (values.low - 1) * _AVERAGE, (values.high + 1) * _AVERAGE
            return _in_steps(name, Grid(mean, values.step / _AVERAGE, *ends, nullable=True))
        if cap is None:
            raise QueryRefused(
                f"{name_of(node)} of one unit has no bound: max_rows is not declared",
                hint=f"add max_rows = … to [tables.{self.relation.table.name}]",
            )
        ends = cap * min(values.low, 0), cap * max(values.high, 0)
        return _in_steps(name, Grid(exp.Sum(this=values.sql), values.step, *ends, nullable=True))

    def _counted(self, name: str, node: exp.Count) -> Made:
        cap = self.relation.table.max_rows
        inner = node.this
        if node.expressions:
            raise QueryRefused("COUNT takes one argument")
        if isinstance(inner, exp.Distinct):
            if len(inner.expressions) != 1:
                raise QueryRefused("COUNT(DISTINCT …) takes one column")
            counted: exp.Expression = exp.Distinct(expressions=[self._value(inner.expressions[0])])
        elif isinstance(inner, exp.Star) or self.scope.is_constant(inner):
            counted = exp.Star()
        else:
            counted = self._value(inner)
        sql = exp.Count(this=counted)
        if cap is None:
            return Made(sql, ColumnPolicy(name, type=ColumnType.INTEGER), "bigint")
        return _in_steps(name, Grid(sql, Fraction(1), 0, cap))

    def _value(self, node: exp.Expression) -> exp.Expression:
        found = self.scope.key(node)
        if found is not None:
            return self._key_sql(found[0])
        value = operand(node, self.scope)
        return value.sql if value is not None else number(node, self.scope, predicate=predicate).sql

    def _extreme(self, name: str, node: exp.Expression) -> Made:
        if node.expressions or isinstance(node.this, exp.Distinct):
            raise QueryRefused(f"{name_of(node)} takes one argument")
        if isinstance(node.this, exp.Column):
            found, kind = self.scope.column(node.this)
            if not kind.is_numeric or found.bounds is None:
                if kind is ColumnType.NUMBER:
                    return _in_steps(name, number(node.this, self.scope, predicate=predicate))
                sql = type(node)(this=exp.column(exp.to_identifier(found.name, quoted=True)))
                return Made(
                    sql, replace(found, name=name, type=kind), self.scope.sql_types.get(found.name.casefold(), "")
                )
        values = number(node.this, self.scope, predicate=predicate)
        return _in_steps(name, replace(values, sql=type(node)(this=values.sql), nullable=True))

    def _rows(self, grouped: list[exp.Expression] | None) -> exp.Select:
        """The subquery itself, rebuilt."""
        owner = self.relation.unit
        listed = [exp.alias_(made.sql.copy(), made.policy.name, quoted=True) for made in self.columns]
        keyed = [
            exp.alias_(self._key_sql(internal), key_column(name), quoted=True)
            for name, (internal, _) in self.keys.items()
        ]
        rows = exp.select(exp.alias_(owner, OWNER, quoted=True), *keyed, *listed)
        rows = rows.from_(self.relation.sql.copy())
        rows = rows.where(exp.Not(this=exp.Is(this=owner.copy(), expression=exp.null())))
        if self.relation.remaining is not None:
            rows = rows.where(exp.paren(predicate(self.relation.remaining, self.scope)))
        if grouped is not None:
            rows = rows.group_by(owner.copy(), *(self._group_sql(node) for node in grouped))
        facts = Facts(grids=grids_of(self.relation.table, self.relation.sql_types))
        return apply(GRID_RULES, rows, facts=facts)

    def _having(self, nodes: list[tuple[str, exp.Expression]]) -> exp.Expression | None:
        """HAVING, with every aggregate in it replaced by a column of this subquery."""
        clause = self.select.args.get("having")
        if clause is None:
            return None
        written = {node.sql(dialect="duckdb"): name for name, node in nodes}
        condition: exp.Expression = clause.this.copy()
        for node in [found for found in condition.walk() if isinstance(found, _AGGREGATES)]:
            name = written.get(node.sql(dialect="duckdb"))
            if name is None:
                name = f"having {len(self.columns)}"
                self._add(name, node, grouped=True)
                self.hidden.add(name)
            node.replace(exp.column(exp.to_identifier(name, quoted=True)))
        return condition

    def _held(self, rows: exp.Select, having: exp.Expression | None) -> exp.Select:
        if having is None:
            return rows
        table = replace(self.relation.table, columns=tuple(made.policy for made in self.columns), unit="unit")
        types = {made.policy.name.casefold(): made.sql_type for made in self.columns}
        source = Source(self.alias, {fold(made.policy.name): made.policy.name for made in self.columns})
        held = predicate(having, Scope(table, (source,), self.scope.parameters, types))
        names = [item.alias for item in rows.expressions if item.alias not in self.hidden]
        listed = [exp.column(exp.to_identifier(name, quoted=True)) for name in names]
        inner = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("grouped")))
        kept = exp.select(*listed).from_(inner).where(held)
        return apply(GRID_RULES, kept, facts=Facts(grids=grids_of(table, types)))

    def _key_sql(self, internal: str) -> exp.Expression:
        """A key; where it names the owner, in the owner's one spelling."""
        key = self.relation.held(internal)
        names_owner = any(
            found == internal and self.relation.owner is not None and owner == _folded(self.relation.owner)
            for source in self.scope.sources
            for found, owner in source.keys.values()
        )
        return self.relation.spelled(key) if names_owner else key

    def _group_sql(self, node: exp.Expression) -> exp.Expression:
        found = self.scope.key(bare(node))
        if found is not None:
            return self._key_sql(found[0])
        if isinstance(bare(node), exp.Window):
            raise QueryRefused("GROUP BY a window is refused", hint="nest one subquery in another")
        return self._computed("key", bare(node)).sql.copy()


def _in_steps(name: str, grid: Grid) -> Made:
    if max(abs(grid.low), abs(grid.high)) >= _WIDEST:
        raise QueryRefused(
            "a subquery's number could overflow: bounds and caps allow too much",
            hint="tighten the bounds or coarsen the step",
        )
    bounds = Bounds(grid.low * grid.step, grid.high * grid.step, step=grid.step)
    kind = ColumnType.INTEGER if grid.step.denominator == 1 else ColumnType.NUMBER
    domain = RangeDomain() if grid.public and bounds.cells <= MAX_DOMAIN else None
    policy = ColumnPolicy(
        name, type=kind, lower=bounds.lower, upper=bounds.upper, step=bounds.step, domain="range" if domain else None
    )
    return Made(grid.sql, policy, steps_type(grid.step))


def _folded(owner: Owner) -> Owner:
    return Owner(fold(owner.table), fold(owner.column))


def ctes_of(select: exp.Query) -> Mapping[str, exp.Expression]:
    """The subqueries that WITH names, in their order."""
    clause = select.args.get("with_")
    if clause is None:
        return {}
    if clause.args.get("recursive"):
        raise QueryRefused("WITH RECURSIVE is refused: how much one unit brings could not be bounded")
    for cte in clause.expressions:
        if cte.args["alias"].columns:
            raise QueryRefused(f"WITH {cte.alias}(…) is refused", hint="name the columns in its SELECT")
    return {fold(cte.alias): cte.this for cte in clause.expressions}
