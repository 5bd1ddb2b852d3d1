"""Joining parts so that no row has two owners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import Owner, fold
from tacit.sql.expressions.names.nodes import joined, paren, subquery
from tacit.sql.expressions.names.scope import all_of, bare, conjuncts
from tacit.sql.expressions.names.spoken import clause_named
from tacit.sql.relations.joining.parts import Named

Bind = Callable[[exp.Expression, int], exp.Expression]  # a condition, over so many parts from the left
_INSTEAD = {
    "SEMI": "write WHERE EXISTS (SELECT 1 FROM … WHERE …)",
    "ANTI": "write WHERE NOT EXISTS (SELECT 1 FROM … WHERE …)",
}
_KINDS = {"", "INNER", "CROSS", "OUTER"}


@dataclass(frozen=True, slots=True)
class Same:
    """Two columns that must be equal, and so must be the owners of their rows."""

    left: Named
    left_column: str
    right: Named
    right_column: str

    def sql(self, owner: Callable[[Named], exp.Column]) -> list[exp.Expression]:
        """The conditions. The owners are compared too: what a key promises is checked row by row."""
        one, other = owner(self.left), owner(self.right)
        owners: list[exp.Expression] = [] if one == other else [exp.EQ(this=one, expression=other)]
        if self.left.names_owner(self.left_column):
            sides = (self.left, self.left_column), (self.right, self.right_column)
            given = [named.key(column) for named, column in sides if named.part.derived is not None]
            # a subquery's own outer join may have left a key NULL on a row that has an owner all the same
            return [*owners, *(exp.Not(this=exp.Is(this=key, expression=exp.null())) for key in given)]
        keys = exp.EQ(this=self.left.key(self.left_column), expression=self.right.key(self.right_column))
        return [keys, *owners]

    def beside(self, named: Named, link: str) -> Named | None:
        """The other part, where this one is held to it by its column `link`, folded."""
        if named is self.left and fold(self.left_column) == link:
            return self.right
        return self.left if named is self.right and fold(self.right_column) == link else None


@dataclass(frozen=True, slots=True)
class Step:
    """One join: its part, its side, and its conditions, of which keys that are held equal stay what they are."""

    index: int
    side: str
    conditions: list[exp.Expression | Same]


@dataclass(slots=True)
class Joins:
    """The joins of one FROM clause, made from left to right."""

    parts: Sequence[Named]
    bind: Bind
    merged: dict[str, int] = field(default_factory=dict)  # USING: which part's column is meant without a qualifier
    missing: set[int] = field(default_factory=set)  # parts whose columns an outer join may leave NULL
    sames: list[Same] = field(default_factory=list)  # the keys that are held equal
    written: list[tuple[int, exp.Expression]] = field(default_factory=list)  # the conditions of each join, by its part
    lenders: dict[int, Named] = field(default_factory=dict)  # by a part's index: the part that knows whose its rows are
    steps: list[Step] = field(default_factory=list)
    taken: list[Same] = field(default_factory=list)  # equalities of keys that stood in WHERE
    _together: dict[int, int] = field(default_factory=dict)
    _holders: dict[str, str] = field(default_factory=dict)  # the alias of the part that has a column

    def settle(self, joins: Sequence[exp.Join], *, where: list[exp.Expression]) -> None:
        """Read the joins. Equalities of keys in `where` are taken out of it and used."""
        _refuse_comma_before_outer(joins)
        self.steps += [self._step(join, index) for index, join in enumerate(joins, start=1)]
        self.taken += self._taken(where)
        self._one_owner()
        self.lenders.update(self._lenders(self.steps, self.taken))

    def tree(self, rows: Callable[[Named], exp.Select]) -> exp.Select:
        """All parts joined, once they are settled."""
        tree = exp.select().from_(subquery(rows(self.parts[0]), self.parts[0].alias), copy=False)
        later: list[exp.Expression] = []
        for step in self.steps:
            written = [each for condition in step.conditions for each in self._written(condition)]
            unseen = {named.alias for named in self.parts[step.index + 1 :]}
            late = [each for each in written if any(column.table in unseen for column in each.find_all(exp.Column))]
            later += late  # whose a row is, where a part says so that is not joined yet: never in an outer join
            on = all_of([each for each in written if each not in late])
            named = self.parts[step.index]
            kind = "" if step.side else "INNER" if on is not None else "CROSS"
            tree = joined(tree, subquery(rows(named), named.alias), on=on, side=step.side, kind=kind)
        later += [each for same in self.taken for each in self._written(same)]
        return tree.where(*later, copy=False) if later else tree

    def bound(self) -> list[tuple[exp.Expression, int | None]]:
        """The conditions of the joins, but for keys that are held equal, each with the index of its join."""
        return [
            (each, step.index) for step in self.steps for each in step.conditions if isinstance(each, exp.Expression)
        ]

    def owner(self, named: Named) -> exp.Column:
        """The column that says whose a row is: that of the part it is held to, where that one knows it."""
        return self.lenders.get(named.index, named).owner

    def _written(self, condition: exp.Expression | Same) -> list[exp.Expression]:
        return condition.sql(self.owner) if isinstance(condition, Same) else [condition]

    def _step(self, join: exp.Join, index: int) -> Step:
        side = self._side(join)
        conditions, keyed = self._on(join, index, outer=bool(side))
        self._keeps_owners(index, side, keyed=keyed)
        if side and not conditions:
            raise QueryRefused(f"{side} JOIN needs a condition", hint="add ON …")
        self.missing |= {index} if side in {"LEFT", "FULL"} else set()
        self.missing |= set(range(index)) if side in {"RIGHT", "FULL"} else set()
        return Step(index, side, conditions)

    def _lenders(self, steps: Sequence[Step], taken: Sequence[Same]) -> dict[int, Named]:
        """For parts that would look up their owner in a table of their own, a part that has it beside them.

        A row that is held equal, by the very column that leads to its owner, to a row of the same key belongs to that
        row's owner: the table of the look-up holds a row of that key and that owner, whence the other part has it. So
        pairs with the look-up are pairs without it; where a key stands twice for one owner, which no key does, each is
        there once, as SQL says, and not once for every such row. This holds where the equality always does: in WHERE
        or an inner join, between rows that no outer join has left out.
        """
        inner = [each for step in steps if not step.side for each in step.conditions if isinstance(each, Same)]
        held = [same for same in (*inner, *taken) if not {same.left.index, same.right.index} & self.missing]
        waiting = sorted((named for named in self.parts if named.link is not None), key=lambda each: each.part.hops)
        known = {named.index for named in self.parts} - {named.index for named in waiting}
        lenders: dict[int, Named] = {}
        while waiting:
            pairs = [(named, self._lender(named, steps, held=held, known=known, lent=lenders)) for named in waiting]
            named, lender = next((pair for pair in pairs if pair[1] is not None), pairs[0])
            if lender is not None:
                lenders[named.index] = lender
            known.add(named.index)
            waiting.remove(named)
        return lenders

    def _lender(
        self, named: Named, steps: Sequence[Step], *, held: Sequence[Same], known: set[int], lent: dict[int, Named]
    ) -> Named | None:
        """Who knows whose its rows are, and does so wherever that is asked."""
        beside = [same.beside(named, named.link or "") for same in held]
        lenders = [lent.get(other.index, other) for other in beside if other is not None and other.index in known]
        unseen = _unseen(named, steps)
        return next((other for other in lenders if other.index not in unseen), None)

    def qualified(self, value: exp.Expression) -> exp.Expression:
        """The same, each column said to be of the part that has it: no two parts have one of the same name."""
        if not self._holders:
            self._holders.update({name: named.alias for named in self.parts for name in named.every})
        for column in list(value.find_all(exp.Column)):
            if not column.table:
                column.set("table", exp.to_identifier(self._holders[column.name]))
        return value

    def _side(self, join: exp.Join) -> str:
        extra = [name for name, value in join.args.items() if value and name not in _JOIN_ARGS]
        kind = str(join.args.get("kind") or "").upper()
        if extra or kind not in _KINDS:
            raise QueryRefused(
                f"{kind or clause_named(extra[0])} JOIN is refused",
                hint=_INSTEAD.get(kind, "JOIN … ON, LEFT, RIGHT, FULL, CROSS, NATURAL and USING are understood"),
            )
        method = str(join.args.get("method") or "").upper()
        if method not in {"", "NATURAL"}:
            raise QueryRefused(
                f"{method} JOIN is refused in this form",
                hint="tie it by a key of the unit and by one comparison: ASOF JOIN b ON a.id = b.id AND a.day >= b.day",
            )
        return str(join.args.get("side") or "").upper()

    def _on(self, join: exp.Join, index: int, *, outer: bool) -> tuple[list[exp.Expression | Same], bool]:
        """The conditions of one join, and whether it ties the part's owners to those before it.

        An outer join ties its part to one part alone: of two before it that it compares, it keeps the unequal pairs.
        """
        written = conjuncts(join.args["on"]) if join.args.get("on") is not None else []
        written += self._using(join, index)
        conditions: list[exp.Expression | Same] = []
        keyed = False
        self.written += [(index, condition) for condition in written]
        for condition in written:
            same = self._same(condition)
            if same is not None and index == max(same.left.index, same.right.index):
                if not (outer and keyed):
                    self._tie(same)
                keyed = True
                conditions.append(same)
            else:
                conditions.append(paren(self.qualified(self.bind(condition, index + 1))))
        return conditions, keyed

    def _using(self, join: exp.Join, index: int) -> list[exp.Expression]:
        names = [identifier.name for identifier in join.args.get("using") or ()]
        if str(join.args.get("method") or "").upper() == "NATURAL":
            here = {*self.parts[index].columns, *self.parts[index].part.keys}
            before = {name for part in self.parts[:index] for name in (*part.columns, *part.part.keys)}
            names = sorted(here & before)
            if not names:
                one, other = self.parts[index - 1].part.alias, self.parts[index].part.alias
                raise QueryRefused(
                    f"NATURAL JOIN of {one} and {other} has no column in common: every row would meet every other",
                    hint=f"write JOIN … ON {one}.… = {other}.…, or CROSS JOIN if that is meant",
                )
        return [self._equal(name, index, side=str(join.args.get("side") or "").upper()) for name in names]

    def _equal(self, name: str, index: int, *, side: str) -> exp.Expression:
        holders = [p for p in self.parts[:index] if fold(name) in {*p.columns, *p.part.keys}]
        if len(holders) != 1 or fold(name) not in {*self.parts[index].columns, *self.parts[index].part.keys}:
            raise self._not_shared(name, index, holders)
        if side == "FULL":
            raise QueryRefused("FULL JOIN with USING is refused", hint="write ON a.x = b.x")
        self.merged[fold(name)] = index if side == "RIGHT" else holders[0].index
        sides = [exp.column(name, table=p.part.alias) for p in (holders[0], self.parts[index])]
        return exp.EQ(this=sides[0], expression=sides[1])

    def _not_shared(self, name: str, index: int, holders: Sequence[Named]) -> QueryRefused:
        here = self.parts[index]
        shared = [_shared(before, here) for before in self.parts[:index]]
        hint = next((f"write ON {condition}" for condition in shared if condition), "write ON a.x = b.x")
        if len(holders) > 1:
            tables = " and ".join(holder.part.alias for holder in holders)
            return QueryRefused(f"USING ({name}) could mean several columns: {tables} have one", hint=hint)
        lacking = self.parts[index - 1] if not holders else here
        return QueryRefused(f"USING ({name}) needs the column on both sides: {lacking.part.alias} has none", hint=hint)

    def _keeps_owners(self, index: int, side: str, *, keyed: bool) -> None:
        """No row may be kept that nobody owns: whether it is there would depend on everybody."""
        right = self.parts[index]
        before = [part for part in self.parts[:index] if part.part.is_private]
        if not before and not right.part.is_private:  # public tables among themselves
            return
        if side and before and right.part.is_private and not keyed:
            raise self._two_owners(before[0], right)
        unowned = {
            "LEFT": [] if before else [self.parts[0]],
            "RIGHT": [] if right.part.is_private else [right],
            "FULL": [] if before and right.part.is_private else [right if before else self.parts[0]],
        }.get(side, [])
        if unowned:
            raise keeps_nobody(side, unowned[0].part.alias)

    def _taken(self, where: list[exp.Expression]) -> Iterator[Same]:
        for condition in list(where):
            same = self._same(condition)
            if same is not None:
                where.remove(condition)
                self._tie(same)
                yield same

    def _same(self, node: exp.Expression) -> Same | None:
        """An equality of two keys of the same thing, in two parts."""
        if not isinstance(node, exp.EQ):
            return None
        sides = [self._key(bare(side)) for side in (node.this, node.expression)]
        if None in sides:
            return None
        (left, one), (right, other) = (side for side in sides if side is not None)
        if left.index == right.index:
            return None
        if left.part.keys[fold(one)] != right.part.keys[fold(other)]:
            if fold(one) in left.columns and fold(other) in right.columns:  # which analysts may use as any other
                return None
            raise self._different(left, one, right=right, other=other)
        return Same(left, one, right, other)

    def _different(self, left: Named, one: str, *, right: Named, other: str) -> QueryRefused:
        """Two keys of different things: who is the one has nothing to do with who is the other."""
        if left.part.owner != right.part.owner:
            return self._two_owners(left, right)
        names = f"{left.part.alias}.{one}", f"{right.part.alias}.{other}"
        keys = left.part.keys[fold(one)], right.part.keys[fold(other)]
        shared = _shared(left, right)
        return QueryRefused(
            f"{names[0]} is held against {names[1]}: one is a key of {keys[0]}, the other of {keys[1]}",
            hint=f"write ON {shared}" if shared else "compare a key with the same key",
        )

    def _key(self, node: exp.Expression) -> tuple[Named, str] | None:
        if not isinstance(node, exp.Column):
            return None
        holders = [
            part
            for part in self.parts
            if fold(node.name) in part.part.keys and (not node.table or fold(node.table) == fold(part.part.alias))
        ]
        if len(holders) > 1:
            one, other = holders[0].part.alias, holders[1].part.alias
            raise QueryRefused(f"{node.name} is in {one} and in {other}", hint=f"write {one}.{node.name}")
        return (holders[0], node.name) if holders else None

    def _tie(self, same: Same) -> None:
        self.sames.append(same)
        self._together[self._head(same.left.index)] = self._head(same.right.index)

    def _head(self, index: int) -> int:
        while index in self._together and self._together[index] != index:
            index = self._together[index]
        return index

    def _one_owner(self) -> None:
        private = [part for part in self.parts if part.part.is_private]
        for other in private[1:]:
            if self._head(other.index) != self._head(private[0].index):
                raise self._two_owners(private[0], other)

    def _two_owners(self, one: Named, other: Named) -> QueryRefused:
        shared = _shared(one, other)
        if shared:
            hint = f"add ON {shared}"
        elif one.part.owner == other.part.owner:
            lacking = one.part.alias if not one.part.keys else other.part.alias
            hint = f"list a key in the subquery {lacking}, and compare it with the same key"
        else:
            hint = same_people(one.part.owner, other.part.owner)
        return QueryRefused(
            f"a joined row would belong to two units: to {_path(one)}, and to {_path(other)}", hint=hint
        )


def same_people(one: Owner | None, other: Owner | None, *, otherwise: str = "ask about one of them at a time") -> str:
    """What to do where two units may be the same, which only the owner of the policy knows; rows are never the same."""
    if one is None or other is None:
        return otherwise
    return f"if both are the same people, say so in the policy: {one.linked_to(other)}"


def _shared(one: Named, other: Named) -> str:
    """The equality that would make their rows one owner's, or nothing."""
    pairs = [(a, b) for a, key in one.part.keys.items() for b, same in other.part.keys.items() if key == same]
    return f"{one.part.alias}.{pairs[0][0]} = {other.part.alias}.{pairs[0][1]}" if pairs else ""


def _unseen(named: Named, steps: Sequence[Step]) -> set[int]:
    """The parts that are joined only after an outer join has asked whose a row of this part is."""
    asked = [
        step.index
        for step in steps
        if step.side
        and any(isinstance(each, Same) and (named is each.left or named is each.right) for each in step.conditions)
    ]
    return set(range(min(asked) + 1, 1 + len(steps))) if asked else set()


def _refuse_comma_before_outer(joins: Sequence[exp.Join]) -> None:
    """A comma binds more loosely than JOIN: `a, b RIGHT JOIN c` is `a, (b RIGHT JOIN c)`."""
    loose = [not any(join.args.get(name) for name in ("kind", "side", "method", "on", "using")) for join in joins]
    sided = [index for index, join in enumerate(joins) if join.args.get("side")]
    if sided and any(loose[: sided[-1]]):
        raise QueryRefused("a comma before an outer join is refused: it binds more loosely", hint="write JOIN … ON")


_JOIN_ARGS = {"this", "on", "using", "side", "kind", "method"}


def _path(named: Named) -> str:
    """How a table's rows lead to their owner."""
    part = named.part
    if part.derived is not None:
        key = next(iter(part.keys), None)
        return f"{part.alias} -> {part.owner}" if key is None else f"{part.alias}.{key} -> {part.owner}"
    column = f"{part.alias}.{part.table.unit_column}"
    return column if part.table.link is None else f"{column} -> {part.owner}"


def keeps_nobody(side: str, name: str) -> QueryRefused:
    """The refusal of a join that keeps rows of a public table or list, called `name`, where they would count."""
    return QueryRefused(
        f"{side} JOIN keeps rows of {name} that match nobody: whether there are any depends on everybody",
        hint=f"write JOIN; a group of {name} without rows is in the answer all the same",
    )
