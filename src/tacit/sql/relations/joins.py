"""Joining parts so that no row has two owners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import fold
from tacit.sql.relations.parts import Named
from tacit.sql.scope import all_of, bare, conjuncts

Bind = Callable[[exp.Expression, int], exp.Expression]  # a condition, over so many parts from the left
_KINDS = {"", "INNER", "CROSS", "OUTER"}


@dataclass(frozen=True, slots=True)
class Same:
    """Two columns that must be equal, and so must be the owners of their rows."""

    left: Named
    left_column: str
    right: Named
    right_column: str

    def sql(self) -> list[exp.Expression]:
        """The conditions. The owners are compared too: what a key promises is checked row by row."""
        owners = exp.EQ(this=self.left.owner, expression=self.right.owner)
        if self.left.names_owner(self.left_column):
            sides = (self.left, self.left_column), (self.right, self.right_column)
            given = [named.key(column) for named, column in sides if named.part.derived is not None]
            # a subquery's own outer join may have left a key NULL on a row that has an owner all the same
            return [owners, *(exp.Not(this=exp.Is(this=key, expression=exp.null())) for key in given)]
        keys = exp.EQ(this=self.left.key(self.left_column), expression=self.right.key(self.right_column))
        return [keys, owners]


@dataclass(slots=True)
class Joins:
    """The joins of one FROM clause, made from left to right."""

    parts: Sequence[Named]
    bind: Bind
    merged: dict[str, int] = field(default_factory=dict)  # USING: which part's column is meant without a qualifier
    missing: set[int] = field(default_factory=set)  # parts whose columns an outer join may leave NULL
    _together: dict[int, int] = field(default_factory=dict)

    def tree(self, rows: Sequence[exp.Select], joins: Sequence[exp.Join], *, where: list[exp.Expression]) -> exp.Select:
        """All parts joined. Equalities of keys in `where` are taken out of it and used."""
        _refuse_comma_before_outer(joins)
        tree = exp.select().from_(_sub(rows[0], 0))
        for place, join in enumerate(joins, start=1):
            side = self._side(join, place)
            conditions, keyed = self._on(join, place, outer=bool(side))
            self._keeps_owners(place, side, keyed=keyed)
            self.missing |= {place} if side in {"LEFT", "FULL"} else set()
            self.missing |= set(range(place)) if side in {"RIGHT", "FULL"} else set()
            on = all_of(conditions)
            if on is None and side:
                raise QueryRefused(f"{side} JOIN needs a condition", hint="add ON …")
            tree = tree.join(
                _sub(rows[place], place), on=on, join_type=side or ("inner" if on is not None else "cross")
            )
        for same in self._taken(where):
            tree = tree.where(*same.sql())
        self._one_owner()
        return tree

    def _side(self, join: exp.Join, place: int) -> str:
        extra = [name for name, value in join.args.items() if value and name not in _JOIN_ARGS]
        kind = str(join.args.get("kind") or "").upper()
        if extra or kind not in _KINDS:
            raise QueryRefused(
                f"{(kind or extra[0].upper())} JOIN is refused", hint="JOIN … ON, LEFT, RIGHT, FULL, CROSS"
            )
        method = str(join.args.get("method") or "").upper()
        if method not in {"", "NATURAL"}:
            raise QueryRefused(f"{method} JOIN is refused")
        return str(join.args.get("side") or "").upper()

    def _on(self, join: exp.Join, place: int, *, outer: bool) -> tuple[list[exp.Expression], bool]:
        """The conditions of one join, and whether it ties the part's owners to those before it.

        An outer join ties its part to one part alone: of two before it that it compares, it keeps the unequal pairs.
        """
        written = conjuncts(join.args["on"]) if join.args.get("on") is not None else []
        written += self._using(join, place)
        conditions: list[exp.Expression] = []
        keyed = False
        for condition in written:
            same = self._same(condition)
            if same is not None and place == max(same.left.place, same.right.place):
                if not (outer and keyed):
                    self._tie(same)
                keyed = True
                conditions += same.sql()
            else:
                conditions.append(exp.paren(self.bind(condition, place + 1)))
        return conditions, keyed

    def _using(self, join: exp.Join, place: int) -> list[exp.Expression]:
        names = [identifier.name for identifier in join.args.get("using") or ()]
        if str(join.args.get("method") or "").upper() == "NATURAL":
            here = {*self.parts[place].columns, *self.parts[place].part.keys}
            before = {name for part in self.parts[:place] for name in (*part.columns, *part.part.keys)}
            names = sorted(here & before)
            if not names:
                raise QueryRefused("NATURAL JOIN has no column in common", hint="write JOIN … ON")
        return [self._equal(name, place, side=str(join.args.get("side") or "").upper()) for name in names]

    def _equal(self, name: str, place: int, *, side: str) -> exp.Expression:
        holders = [p for p in self.parts[:place] if fold(name) in {*p.columns, *p.part.keys}]
        if len(holders) != 1:
            raise QueryRefused(f"USING ({name}): the column must be in one table before", hint="write ON a.x = b.x")
        if side == "FULL":
            raise QueryRefused("FULL JOIN with USING is refused", hint="write ON a.x = b.x")
        self.merged[fold(name)] = place if side == "RIGHT" else holders[0].place
        sides = [exp.column(name, table=p.part.alias) for p in (holders[0], self.parts[place])]
        return exp.EQ(this=sides[0], expression=sides[1])

    def _keeps_owners(self, place: int, side: str, *, keyed: bool) -> None:
        """No row may be kept that nobody owns: whether it is there would depend on everybody."""
        right = self.parts[place]
        before = [part for part in self.parts[:place] if part.part.is_private]
        if side and before and right.part.is_private and not keyed:
            raise self._two_owners(before[0], right)
        unowned = {
            "LEFT": [] if before else [self.parts[0]],
            "RIGHT": [] if right.part.is_private else [right],
            "FULL": [] if before and right.part.is_private else [right if before else self.parts[0]],
        }.get(side, [])
        if unowned:
            name = unowned[0].part.alias
            raise QueryRefused(
                f"{side} JOIN keeps rows of {name} that match nobody: whether there are any depends on everybody",
                hint=f"write JOIN; a group of {name} without rows is in the answer all the same",
            )

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
        if left.place == right.place or left.part.keys[fold(one)] != right.part.keys[fold(other)]:
            return None
        return Same(left, one, right, other)

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
        self._together[self._head(same.left.place)] = self._head(same.right.place)

    def _head(self, place: int) -> int:
        while place in self._together and self._together[place] != place:
            place = self._together[place]
        return place

    def _one_owner(self) -> None:
        private = [part for part in self.parts if part.part.is_private]
        for other in private[1:]:
            if self._head(other.place) != self._head(private[0].place):
                raise self._two_owners(private[0], other)

    def _two_owners(self, one: Named, other: Named) -> QueryRefused:
        shared = [(a, b) for a, key in one.part.keys.items() for b, same in other.part.keys.items() if key == same]
        if shared:
            a, b = shared[0]
            hint = f"add ON {one.part.alias}.{a} = {other.part.alias}.{b}"
        else:
            hint = f'the policy links neither: add unit = "column -> {one.part.table.name}.key" if they are the same'
        return QueryRefused(
            f"a joined row would belong to two units: to {_path(one)}, and to {_path(other)}", hint=hint
        )


def _refuse_comma_before_outer(joins: Sequence[exp.Join]) -> None:
    """A comma binds more loosely than JOIN: `a, b RIGHT JOIN c` is `a, (b RIGHT JOIN c)`."""
    loose = [not any(join.args.get(name) for name in ("kind", "side", "method", "on", "using")) for join in joins]
    sided = [place for place, join in enumerate(joins) if join.args.get("side")]
    if sided and any(loose[: sided[-1]]):
        raise QueryRefused("a comma before an outer join is refused: it binds more loosely", hint="write JOIN … ON")


_JOIN_ARGS = {"this", "on", "using", "side", "kind", "method"}


def _path(named: Named) -> str:
    """How a table's rows lead to their owner."""
    link, owner = named.part.table.link, named.part.owner
    column = f"{named.part.alias}.{named.part.table.unit_column}"
    return column if link is None else f"{column} -> {owner}"


def _sub(select: exp.Select, place: int) -> exp.Subquery:
    return exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier(f"t{place}")))
