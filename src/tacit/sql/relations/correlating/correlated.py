"""A subquery in a condition: what of it looks at the row around it, and what is its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import NullUnit, Owner, TablePolicy, fold
from tacit.sql.expressions.names.nodes import aliased, paren, quoted_column
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import Scope, ScopeSource, all_of, bare, conjuncts
from tacit.sql.expressions.names.unread import OUTSIDE
from tacit.sql.expressions.predicates import predicate
from tacit.sql.relations.joining.extremes import can_be_grouped, folded
from tacit.sql.relations.joining.growth import Fan, fan
from tacit.sql.relations.joining.joins import same_people
from tacit.sql.relations.joining.own_joins import MOST_OWN, first_rows, left_out
from tacit.sql.relations.joining.parts import OWNER, NamedTable, key_column, unlike
from tacit.sql.relations.relation import Relation
from tacit.sql.rules import GRID_RULES, Facts, apply, grids_of

NEAREST = "look within the unit: compare a key of the subquery with the same key outside, or name a public table"
_INNER = "s"  # what the rebuilt subquery is called
_MIRRORED: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.NEQ: exp.NEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}


@dataclass(frozen=True, slots=True)
class Asker:
    """The query around the subquery."""

    relation: Relation
    scope: Scope
    derive: Callable[[exp.Expression, frozenset[str]], NamedTable]  # the subquery as rows: of one unit each, or public
    names: Callable[[exp.Select], Scope]  # the names that are known inside the subquery
    bounded: Callable[[Fan], None]  # refuses to look at so many rows for each row outside
    counted: Callable[[Fan], int | None]  # how many rows of public tables that is; None where nobody can count them
    note: Callable[[str], None]  # says something to the reader of the answer


@dataclass(slots=True)
class Correlated:
    """A subquery taken apart: its own rows, and the conditions that also look outside.

    A condition that looks at its own tables only stays in it. An equality of one of its keys with the same key outside
    is a tie. Any other condition is put after the subquery, with a column of it for each of its names.
    """

    select: exp.Select
    asker: Asker
    ties: list[tuple[str, tuple[str, Owner]]] = field(default_factory=list)  # a key inside, the key outside
    unlike_keys: list[tuple[str, tuple[str, Owner], type[exp.Expression]]] = field(default_factory=list)
    conditions: list[exp.Expression] = field(default_factory=list)
    columns: dict[str, exp.Expression] = field(default_factory=dict)  # by the name we gave it
    nearest: str = NEAREST  # what would tie it to the row outside
    shown: dict[str, str] = field(default_factory=dict)  # what each goes by beside those outside
    in_key: bool = False  # key IN (…): what it lists will be a tie

    def take_apart(self) -> None:
        """Sort the conditions of WHERE. What is left of the subquery depends on nothing outside."""
        where = self.select.args.get("where")
        plain = copied(self.select)
        for clause in ("where", "group", "having", "order", "limit", "distinct"):
            plain.set(clause, None)
        inside = self.asker.names(plain)
        kept: list[exp.Expression] = []
        for condition in [] if where is None else conjuncts(where.this):
            if not any(self._is_outer(column, inside) for column in _columns(condition)):
                self._refuse_hidden(condition, inside)
                kept.append(copied(condition))
            elif not self._tied(condition, inside) and not self._told_apart(condition, inside):
                self.conditions.append(self._moved(condition, inside))
        self.nearest = self._nearest(inside)
        whole = all_of(kept)
        self.select = copied(self.select)
        self.select.set("where", None if whole is None else exp.Where(this=whole))

    @property
    def is_tied(self) -> bool:
        """Whether anything in it looks outside."""
        return bool(self.ties or self.conditions or self.unlike_keys)

    def derived(self, items: Sequence[exp.Expression] = ()) -> NamedTable:
        """Its rows: what is asked of them, and whatever the conditions need."""
        needed = [aliased(copied(column), name) for name, column in self.columns.items()]
        listed = [*(copied(item) for item in items), *needed]
        self.select.set("expressions", listed or [exp.alias_(exp.Literal.number(1), "one")])
        return self.asker.derive(self.select, self._tied_columns(items))

    def _tied_columns(self, items: Sequence[exp.Expression]) -> frozenset[str]:
        """The columns that are, or for IN will be, held to a key of the row outside.

        A row outside that has a key has the owner that the key leads to; so has a row inside of the same key, and
        nobody need look it up. A unit that is NULL, where the policy makes one unit of those, is equal to none.
        """
        if self.asker.relation.table.null_unit is NullUnit.ONE:
            return frozenset()
        keys = [self.columns[name] for name, _ in self.ties]
        if self.in_key:
            keys += [item.this if isinstance(item, exp.Alias) else item for item in items]
        return frozenset(fold(key.name) for key in map(bare, keys) if isinstance(key, exp.Column))

    def exists(self, part: NamedTable) -> exp.Expression:
        """Whether there is a row of it that suits the row outside."""
        found = exp.Exists(this=self.over(part, listed=[exp.Literal.number(1)], names=[]))
        present = self.present()
        return found if present is None else paren(exp.And(this=present, expression=found))

    def present(self) -> exp.Expression | None:
        """That no key outside is empty, by which it is tied to the unit: an outer join may have left it so.

        None where that cannot be, or is compared anyway: the unit itself is never missing.
        """
        relation = self.asker.relation
        ties = self.ties[:-1] if self.in_key else self.ties
        unit = fold(relation.table.unit_column or "")
        keys = [name for _, (name, identity) in ties if relation.is_owner(identity) and fold(name) != unit]
        return all_of([exp.Not(this=exp.Is(this=relation.held(name), expression=exp.null())) for name in keys])

    def over(self, part: NamedTable, *, listed: list[exp.Expression], names: list[str]) -> exp.Select:
        """SELECT `listed` FROM its rows WHERE they suit the row outside. `names` of its columns are taken along.

        Without any, how many rows suit is not asked: those of a unit are folded where that is possible.
        """
        columns = [*(name for name in self.columns if fold(name) not in part.keys), *names]
        kept: list[exp.Expression] = [_as(name, self.called(name)) for name in columns]
        conditions: list[exp.Expression] = []
        if part.is_private:
            kept += [] if part.tied else [_of(OWNER)]
            kept += [_of(key_column(name)) for name in (*self._keys_held(), *(n for n, *_ in self.unlike_keys))]
            conditions = [*self._same_owner(part), *self._other_keys(part)]
        elif self.ties:
            raise QueryRefused("a key stands against a public table: it tells one person from another", hint=NEAREST)
        if not part.is_private and self.conditions:
            self.asker.bounded(self.fan(part))
        table, types = self._described(part)
        source = ScopeSource("", {fold(self.called(name)): self.called(name) for name in columns})
        both = Scope(table, (source, *self.asker.scope.sources), self.asker.scope.parameters, types)
        inside = {self.called(name) for name in columns}
        conditions += [paren(_outside(predicate(each, both), inside=inside)) for each in self.conditions]
        few = folded(kept, conditions, inner=_INNER, types=types) if part.is_private and not names else None
        rows = exp.select(*(few.columns if few else kept or [exp.Literal.number(1)])).from_(_sub(part.derived))
        if few is not None:
            rows, conditions = rows.group_by(*few.groups), few.conditions
        loose = [each for each in conditions if not isinstance(bare(each), exp.EQ)]
        if part.is_private and not names and len(loose) > (few is not None):  # each row would be held against each
            rows = self._first(rows if few else rows.distinct(), part, conditions, types)
        query = exp.select(*listed).from_(_sub(rows))
        query = query.where(*conditions) if conditions else query
        return apply(GRID_RULES, query, facts=Facts(grids=grids_of(table, types)))

    def _first(
        self, rows: exp.Select, part: NamedTable, conditions: Sequence[exp.Expression], types: Mapping[str, str]
    ) -> exp.Select:
        """So few of a unit's rows that each row outside is held against few of them.

        Those that agree in what is held equal, whose they are above all: a cut that looked at several units' rows would
        let one decide about another's.
        """
        owner = [] if part.tied else [_of(OWNER)]
        owner += [_of(key_column(name)) for name in self._keys_held()]
        if not owner:
            raise QueryRefused("this subquery is refused: nothing says whose its rows are", hint=self.nearest)
        within = {column.name: column for column in (*owner, *_held_to_others(conditions))}
        names = [item.alias_or_name for item in rows.expressions]
        unordered = {name for name in names if not can_be_grouped(types.get(name.casefold()))}
        self.asker.note(left_out("a subquery", MOST_OWN))
        return first_rows(rows, _INNER, within=list(within.values()), most=MOST_OWN, unordered=unordered)

    def called(self, name: str) -> str:
        """What a column of the subquery goes by beside those outside: as the analyst writes it, if no other does."""
        if name not in self.shown:
            node = self.columns.get(name)
            written = name if node is None else text_of(node, comments=False)
            self.shown[name] = unlike(
                written, lambda name: self.asker.scope.table_has(name) or fold(name) in map(fold, self.shown.values())
            )
        return self.shown[name]

    def fan(self, part: NamedTable) -> Fan:
        """The most of its rows, all of them public, that can suit one row outside."""
        return fan(part, self._held_equal())

    def _held_equal(self) -> set[str]:
        """The columns that are compared by = with something that is known outside: an engine looks those up."""
        shown = {fold(self.called(name)): fold(name) for name in self.columns}
        held: set[str] = set()
        for node in map(bare, self.conditions):
            sides = (node.this, node.expression) if isinstance(node, exp.EQ) else ()
            for side, other in zip(map(bare, sides), reversed(sides), strict=True):
                known = not any(fold(column.name) in shown for column in _columns(other))
                if isinstance(side, exp.Column) and fold(side.name) in shown and known:
                    held.add(shown[fold(side.name)])
        return held

    def _described(self, part: NamedTable) -> tuple[TablePolicy, dict[str, str]]:
        outside = self.asker.scope.table
        inside = tuple(column.named(self.called(column.name)) for column in part.columns)
        types = {self.called(name).casefold(): kind for name, kind in part.types.items()}
        table = replace(outside, columns=(*outside.columns, *inside))
        return table, {**self.asker.scope.sql_types, **types}

    def _keys_held(self) -> list[str]:
        """The ties but those to the unit itself, which is compared in its one spelling."""
        return [name for name, (_, identity) in self.ties if not self.asker.relation.is_owner(identity)]

    def _same_owner(self, part: NamedTable) -> list[exp.Expression]:
        """The owners are compared too, whatever the keys promise."""
        relation = self.asker.relation
        if part.owner != relation.owner or relation.owner is None:
            hint = same_people(part.owner, relation.owner, otherwise=NEAREST)
            raise QueryRefused("the subquery's rows belong to other units than those outside", hint=hint)
        same: list[exp.Expression] = []
        for name, (outside, identity) in self.ties:
            if part.keys.get(fold(name)) != identity:
                raise QueryRefused("the subquery is tied to the unit outside by different keys", hint=NEAREST)
            if not relation.is_owner(identity):  # which is compared below, in its one spelling
                same.append(exp.EQ(this=_of(key_column(name)), expression=_outside(relation.held(outside))))
        if part.tied:  # by a key, which says whose its rows are
            return same
        return [*same, exp.EQ(this=_of(OWNER), expression=_outside(relation.unit))]

    def _other_keys(self, part: NamedTable) -> list[exp.Expression]:
        """b.id <> a.id: another row of the same unit's."""
        others: list[exp.Expression] = []
        for name, (outside, identity), kind in self.unlike_keys:
            if part.keys.get(fold(name)) != identity:
                raise QueryRefused("keys of different things are compared", hint=NEAREST)
            others.append(kind(this=_of(key_column(name)), expression=_outside(self.asker.relation.held(outside))))
        return others

    def _is_outer(self, column: exp.Column, inside: Scope) -> bool:
        """As SQL has it, a name is of the subquery wherever it can be."""
        return not inside.knows(column) and self.asker.scope.knows(column)

    def _refuse_hidden(self, condition: exp.Expression, inside: Scope) -> None:
        """z.id = id, where z has both: in SQL a name is the subquery's own wherever it can be."""
        sides = [bare(side) for side in (condition.this, condition.expression)] if isinstance(condition, exp.EQ) else []
        if not sides or not all(inside.key(side) for side in sides):
            return
        for side in sides:
            if isinstance(side, exp.Column) and not side.table and self.asker.scope.key(side):
                outside = self.asker.scope.sources[0].alias
                raise QueryRefused(
                    f"{side.name} is the subquery's own here: it hides the one outside",
                    hint=f"write {outside}.{side.name} for the one outside",
                )

    def _nearest(self, inside: Scope) -> str:
        """The equality that would tie the subquery to the unit outside."""
        for here in inside.sources:
            for there in self.asker.scope.sources:
                for name, (_, key) in sorted(here.keys.items(), key=lambda item: item[0] not in here.units):
                    twin = next((other for other, (_, same) in there.keys.items() if same == key), None)
                    if twin is not None and fold(here.alias) != fold(there.alias):
                        return f"look within the unit: add WHERE {here.alias}.{name} = {there.alias}.{twin}"
        return NEAREST

    def _tied(self, condition: exp.Expression, inside: Scope) -> bool:
        """Take `inner key = outer key`, in either order."""
        if not isinstance(condition, exp.EQ):
            return False
        sides = [side for side in map(bare, (condition.this, condition.expression)) if isinstance(side, exp.Column)]
        if len(sides) < 2:
            return False
        outer = [self._is_outer(side, inside) for side in sides]
        for here, there in ((0, 1), (1, 0)):
            owner = self.asker.scope.key(sides[there]) if outer[there] and not outer[here] else None
            if owner is not None and inside.key(sides[here]) is not None:
                name = f"key {len(self.ties)}"
                self.ties.append((name, owner))
                self.columns[name] = copied(sides[here])
                return True
        return False

    def _told_apart(self, condition: exp.Expression, inside: Scope) -> bool:
        """Take `inner key <> outer key`, or < and its like, in either order; a tie is needed beside it."""
        if not isinstance(condition, tuple(_MIRRORED)):
            return False
        for here, there, kind in (
            (condition.this, condition.expression, type(condition)),
            (condition.expression, condition.this, _MIRRORED[type(condition)]),
        ):
            inner, outer = bare(here), bare(there)
            if not isinstance(inner, exp.Column) or not isinstance(outer, exp.Column):
                return False
            owner = self.asker.scope.key(outer) if self._is_outer(outer, inside) else None
            if owner is not None and not self._is_outer(inner, inside) and inside.key(inner) is not None:
                name = f"other key {len(self.unlike_keys)}"
                self.unlike_keys.append((name, owner, kind))
                self.columns[name] = copied(inner)
                return True
        return False

    def _moved(self, condition: exp.Expression, inside: Scope) -> exp.Expression:
        """The condition with our names for the subquery's columns."""
        if condition.find(exp.Select):
            raise QueryRefused("a subquery in a condition that looks outside is refused", hint="nest one at a time")
        moved = paren(copied(condition))
        for column in list(_columns(moved)):
            if self._is_outer(column, inside):
                continue
            if inside.key(column) is not None:
                raise QueryRefused(
                    f"{column.name} is a key: it may be compared with the same key outside, and only by =",
                    hint=f"write {column.name} = the same key of the table outside",
                )
            name = next((known for known, same in self.columns.items() if same == column), None)
            name = name or f"column {len(self.columns)}"
            self.columns[name] = copied(column)
            column.replace(quoted_column(self.called(name)))
        return moved


def _columns(condition: exp.Expression) -> Iterator[exp.Column]:
    """The names in a condition; those in a subquery of it are its own."""
    for node in condition.walk(prune=lambda node: isinstance(node, exp.Select)):
        if isinstance(node, exp.Column):
            yield node


def _outside(value: exp.Expression, *, inside: Collection[str] = ()) -> exp.Expression:
    """The same with every column qualified: `inside` are the subquery's own, all others those of the row outside."""
    for column in list(value.find_all(exp.Column)):
        column.set("table", exp.to_identifier(_INNER if column.name in inside else OUTSIDE))
    return value


def _held_to_others(conditions: Sequence[exp.Expression]) -> Iterator[exp.Column]:
    """The subquery's columns that are held equal to something outside, just as they stand in its rows."""
    for node in map(bare, conditions):
        sides = [bare(node.this), bare(node.expression)] if isinstance(node, exp.EQ) else []
        for side, other in zip(sides, reversed(sides), strict=True):
            alone = not any(column.table == _INNER for column in other.find_all(exp.Column))
            if isinstance(side, exp.Column) and side.table == _INNER and alone:
                yield copied(side)


def _of(column: str) -> exp.Column:
    return quoted_column(column, _INNER)


def _sub(rows: exp.Select | None) -> exp.Subquery:
    assert rows is not None  # noqa: S101 - a subquery is always derived
    return exp.Subquery(this=copied(rows), alias=exp.TableAlias(this=exp.to_identifier(_INNER)))


def _as(column: str, called: str) -> exp.Expression:
    return exp.Alias(this=_of(column), alias=exp.to_identifier(called, quoted=True))
