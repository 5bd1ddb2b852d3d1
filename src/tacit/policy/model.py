"""The whole of what a curator declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from tacit.core import Adjacency, Budget, PrivacyUnit
from tacit.errors import PolicyError, UnknownName
from tacit.policy.budget import AnalystPolicy, BudgetPolicy, GroupPolicy
from tacit.policy.limits import LimitsPolicy
from tacit.policy.plain import Plain, plain
from tacit.policy.reading.fault import Fault, KeyPath, key_text
from tacit.policy.reading.lines import Origin
from tacit.policy.reading.names import all_different, fold, meant
from tacit.policy.server import ServerPolicy
from tacit.policy.sources.dataset import Dataset, FileSource
from tacit.policy.tables.domain import TableDomain
from tacit.policy.tables.owners import broken_links
from tacit.policy.tables.table import TablePolicy
from tacit.policy.tables.view import ViewPolicy
from tacit.policy.version import version_of

_TEXTS = (".csv", ".tsv", ".json", ".ndjson")


@dataclass(frozen=True, slots=True, init=False)
class Policy:
    """What the curator promises and permits. A value: two that promise the same have the same `version`.

    `origin` remembers the lines of the file a policy was read from, for messages.
    """

    dataset: Dataset
    budget: BudgetPolicy
    tables: tuple[TablePolicy, ...]
    analysts: tuple[AnalystPolicy, ...]
    groups: tuple[GroupPolicy, ...]
    views: tuple[ViewPolicy, ...]
    limits: LimitsPolicy
    server: ServerPolicy
    origin: Origin | None = field(repr=False, compare=False)
    version: str = field(init=False, repr=False, compare=False)

    def __init__(  # noqa: PLR0913 - the sections of a policy
        self,
        dataset: Dataset,
        budget: BudgetPolicy,
        *,
        tables: Iterable[TablePolicy],
        analysts: Iterable[AnalystPolicy] = (),
        groups: Iterable[GroupPolicy] = (),
        views: Iterable[ViewPolicy] = (),
        limits: LimitsPolicy | None = None,
        server: ServerPolicy | None = None,
        origin: Origin | None = None,
    ) -> None:
        object.__setattr__(self, "dataset", dataset)
        object.__setattr__(self, "budget", budget)
        object.__setattr__(self, "tables", tuple(tables))
        object.__setattr__(self, "analysts", tuple(analysts))
        object.__setattr__(self, "groups", tuple(groups))
        object.__setattr__(self, "views", tuple(views))
        object.__setattr__(self, "limits", LimitsPolicy() if limits is None else limits)
        object.__setattr__(self, "server", ServerPolicy() if server is None else server)
        object.__setattr__(self, "origin", origin)
        for fault in contradictions(self):
            raise fault
        object.__setattr__(self, "version", version_of(self.plain()))

    @property
    def adjacency(self) -> Adjacency:
        """The neighbour relation that every answer states."""
        return self.dataset.adjacency

    def table(self, name: str) -> TablePolicy:
        """The table of that name, whatever its case."""
        for table in self.tables:
            if fold(table.name) == fold(name):
                return table
        names = [table.name for table in self.tables]
        raise UnknownName(
            f"unknown table {name!r}: the policy does not name it",
            hint=meant(name, names) or f"the tables are {', '.join(names)[:200]}",
        )

    def view(self, name: str) -> ViewPolicy | None:
        """The view of that name, whatever its case."""
        return next((view for view in self.views if fold(view.name) == fold(name)), None)

    def unit_of(self, table: str) -> PrivacyUnit | None:
        """Whose presence is hidden in a table; None if it is public."""
        return self.table(table).privacy_unit(self.adjacency)

    def analyst(self, name: str) -> AnalystPolicy:
        """The analyst of that name, whatever its case. A stranger is told no other name."""
        for analyst in self.analysts:
            if fold(analyst.name) == fold(name):
                return analyst
        raise PolicyError(f"no analyst {name!r}: the policy names none so", hint=f"add [analysts.{key_text(name)}]")

    def group(self, name: str) -> GroupPolicy:
        """The group of that name, whatever its case."""
        for group in self.groups:
            if fold(group.name) == fold(name):
                return group
        raise PolicyError(f"no group {name!r}: the policy names none so")

    def limit_of(self, holder: AnalystPolicy | GroupPolicy) -> Budget:
        """The cap of an analyst or a group; what they do not say is the total's."""
        epsilon = self.budget.epsilon if holder.epsilon is None else holder.epsilon
        return Budget(epsilon, self.budget.delta if holder.delta is None else holder.delta)

    def plain(self) -> Plain:
        """The keys and values of the file that reads back as this policy."""
        return plain(
            self.dataset,
            self.budget,
            tables=self.tables,
            analysts=self.analysts,
            groups=self.groups,
            views=self.views,
            limits=self.limits,
            server=self.server,
        )

    def place(self, *path: str) -> str:
        """Where a key stands or would stand, such as `tacit.toml:14`; empty for a policy made in Python."""
        return self.origin.place(path) if self.origin else ""


def contradictions(policy: Policy) -> Iterator[Fault]:
    """Everything the parts of a policy say against one another."""
    checks: tuple[Callable[[Policy], Iterator[Fault]], ...] = (
        _same_names,
        _sources,
        _formats,
        _domains,
        _memberships,
        _links,
        _two_owners,
    )
    for check in checks:
        yield from check(policy)


def _same_names(policy: Policy) -> Iterator[Fault]:
    if not policy.tables:
        yield Fault("is missing: there is nothing to ask about", path=("tables",), rooted=True)
    for key, names in (
        ("tables", [table.name for table in policy.tables]),
        ("views", [*(table.name for table in policy.tables), *(view.name for view in policy.views)]),
        ("analysts", [analyst.name for analyst in policy.analysts]),
        ("groups", [group.name for group in policy.groups]),
    ):
        try:
            all_different(names, path=(key,), rooted=True)
        except Fault as fault:
            yield fault


def _sources(policy: Policy) -> Iterator[Fault]:
    source = policy.dataset.source
    if not isinstance(source, FileSource):
        return
    declared = {fold(table.name) for table in policy.tables}
    named = [name for name, _ in source.files]
    for table in policy.tables:
        if source.location(table.name) is None:
            hint = meant(table.name, named) or f'add {table.name} = "…" to source'
            yield Fault("has no file: source does not name it", path=("tables", table.name), hint=hint, rooted=True)
    for name in named:
        if fold(name) not in declared:
            path: KeyPath = ("dataset", "source", name)
            hint = f"add [tables.{name}] with a unit or public = true, or take it out of source"
            yield Fault("is not declared among the tables", path=path, hint=hint, rooted=True)


def _formats(policy: Policy) -> Iterator[Fault]:
    source = policy.dataset.source
    for table in policy.tables:
        location = source.location(table.name) if isinstance(source, FileSource) else None
        if table.format is not None and not (location and any(word in location.lower() for word in _TEXTS)):
            path: KeyPath = ("tables", table.name, "format")
            yield Fault("cannot be: only CSV and JSON have one", path=path, hint="take it out", rooted=True)


def _domains(policy: Policy) -> Iterator[Fault]:
    tables = {fold(table.name): table for table in policy.tables}
    public = [table.name for table in policy.tables if table.public]
    for table in policy.tables:
        for column in table.columns:
            if not isinstance(column.domain, TableDomain):
                continue
            path = ("tables", table.name, "columns", column.name, "domain")
            other = tables.get(fold(column.domain.table))
            hint = meant(column.domain.table, public)
            if other is None:
                yield Fault(f"names {column.domain.table!r}, which is no table here", path=path, hint=hint, rooted=True)
            elif not other.public:
                yield Fault(f"names {other.name!r}, which is not public", path=path, hint=hint, rooted=True)


def _memberships(policy: Policy) -> Iterator[Fault]:
    names = [group.name for group in policy.groups]
    known = {fold(name) for name in names}
    for analyst in policy.analysts:
        for index, name in enumerate(analyst.groups):
            if fold(name) not in known:
                path: KeyPath = ("analysts", analyst.name, "groups", index)
                hint = meant(name, names) or f"add [groups.{name}] with epsilon"
                yield Fault(f"{name!r} is no group here", path=path, hint=hint, rooted=True)


def _two_owners(policy: Policy) -> Iterator[Fault]:
    """Rows with two owners are hidden by adding or removing a person: replacing one is not bounded."""
    both = next((table.name for table in policy.tables if table.units), None)
    if both is not None and policy.adjacency is Adjacency.REPLACE:
        why = f'cannot be "replace": the rows of {both} have two owners, and only adding or removing one is bounded'
        yield Fault(why, path=("dataset", "adjacency"), hint='write adjacency = "add/remove"', rooted=True)


def _links(policy: Policy) -> Iterator[Fault]:
    yield from broken_links(policy.tables)
