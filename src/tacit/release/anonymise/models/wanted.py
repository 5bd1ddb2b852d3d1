"""What every class must satisfy: the privacy models that are asked for, each of them once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from tacit.errors import InvalidParameter
from tacit.release.anonymise.models.distance import EQUAL, Ground
from tacit.release.anonymise.models.family import (
    EVERY,
    AlphaAnonymity,
    BetaLikeness,
    DeltaPresence,
    EntropyDiversity,
    KAnonymity,
    KMap,
    LDiversity,
    Model,
    RecursiveDiversity,
    TCloseness,
    refuse_parts,
    refuse_words,
)

DIVERSITIES = ("distinct", "entropy", "recursive")
_HOW = {"diversity": "distinct", "distance": EQUAL, "c": None}  # what says how a number is meant, and its default


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The privacy models and their numbers; None where a model is not asked for.

    Those of secrets guard every sensitive column.
    """

    k: int | None = None
    k_map: int | None = None
    presence: tuple[float, float] | None = None
    l: float | None = None  # noqa: E741 - the model's own name for it
    diversity: str = "distinct"
    c: float | None = None  # of recursive diversity
    t: float | None = None
    distance: str = EQUAL
    beta: float | None = None
    alpha: float | None = None
    scoped: tuple[Model, ...] = ()  # models that guard one sensitive column each

    def __post_init__(self) -> None:
        if self.k is None and self.k_map is None:
            raise InvalidParameter("no k: how many rows shall share their quasi-identifiers?", hint="give k, such as 5")
        for name, count in (("k", self.k), ("k of k-map", self.k_map)):
            if count is not None:
                refuse_parts(name, count)
        for name in ("l", "c", "t", "beta", "alpha"):
            if getattr(self, name) is not None:
                refuse_words(name, getattr(self, name))
        if self.diversity not in DIVERSITIES:
            raise InvalidParameter(
                f"there is no diversity {self.diversity!r}", hint=f"there are {', '.join(DIVERSITIES)}"
            )
        if (self.diversity == "recursive") != (self.c is not None):
            raise InvalidParameter("recursive diversity goes with a c, and nothing else does", hint="give c, such as 3")
        if self.diversity != "distinct" and self.l is None:
            raise InvalidParameter(f"{self.diversity} diversity needs an l", hint="give l, such as 2")
        if self.diversity == "recursive":  # it counts places: from the 2.9th value on means nothing
            l = self.l  # noqa: E741 - the model's own name for it
            refuse_parts("l of recursive diversity", int(l) if isinstance(l, float) and l.is_integer() else l)

    @property
    def guards(self) -> bool:
        """Whether a model looks at sensitive columns."""
        return bool(self.scoped) or any(number is not None for number in (self.l, self.t, self.beta, self.alpha))

    @property
    def needs_population(self) -> bool:
        """Whether a model compares with a population."""
        return self.k_map is not None or self.presence is not None

    def models(self, sensitive: Sequence[str], grounds: Mapping[str, Ground]) -> tuple[Model, ...]:
        """All of them, for these sensitive columns."""
        if self.guards and not sensitive:
            raise InvalidParameter(
                "l, t, beta and alpha guard sensitive columns, and none is named", hint="name the sensitive column"
            )
        models: list[Model] = []
        if self.k is not None:
            models.append(KAnonymity(self.k))
        if self.k_map is not None:
            models.append(KMap(self.k_map))
        if self.presence is not None:
            models.append(DeltaPresence(*self.presence))
        for column in sensitive:
            models.extend(self._guarding(column, grounds[column]))
        return (*models, *(self._in_scope(model, sensitive, grounds) for model in self.scoped))

    def distances(self, sensitive: Sequence[str]) -> dict[str, str]:
        """How far two values of each sensitive column are apart: as the t that guards it says, else equally far."""
        scoped = {model.column.casefold(): model.distance for model in self.scoped if isinstance(model, TCloseness)}
        every = EQUAL if self.t is None else self.distance
        return {name: scoped.get(name.casefold(), every) for name in sensitive}

    def _in_scope(self, model: Model, sensitive: Sequence[str], grounds: Mapping[str, Ground]) -> Model:
        """The model of one column, by the name that the table has for it."""
        column = next((name for name in sensitive if name.casefold() == str(model.column).casefold()), None)
        if column is None:
            raise InvalidParameter(f"{model}: {model.column!r} is not a sensitive column", hint="name it as sensitive")
        if isinstance(model, TCloseness):
            return TCloseness(model.t, column, model.distance, grounds[column].levels)
        guarding = cast("LDiversity | EntropyDiversity | RecursiveDiversity | BetaLikeness | AlphaAnonymity", model)
        return replace(guarding, column=column)

    def _guarding(self, column: str, ground: Ground) -> list[Model]:
        models: list[Model] = []
        if self.l is not None and self.diversity == "recursive":
            models.append(RecursiveDiversity(int(self.l), float(self.c or 0), column))
        elif self.l is not None:
            models.append((EntropyDiversity if self.diversity == "entropy" else LDiversity)(self.l, column))
        if self.t is not None:
            models.append(TCloseness(self.t, column, ground.name, ground.levels))
        if self.beta is not None:
            models.append(BetaLikeness(self.beta, column))
        if self.alpha is not None:
            models.append(AlphaAnonymity(self.alpha, column))
        return models


def wanted_of(models: Sequence[Model], **numbers: Any) -> Wanted:
    """What is wanted, from models and from numbers by name (`k=5`, `l=2`); nothing may be asked for twice."""
    given: dict[str, Any] = {name: value for name, value in numbers.items() if value != _HOW.get(name)}
    scoped: dict[tuple[str, str], Model] = {}
    for model in models:
        slots = _slots(model)
        slot = next(iter(slots))
        column = getattr(model, "column", None) or EVERY
        if slot in given or (slot, column.casefold()) in scoped or (not column and _is_scoped(slot, scoped)):
            raise InvalidParameter(
                f"{_SAID[slot]} is asked for twice", hint="name it once, as a number or among the models"
            )
        if column:
            scoped[slot, column.casefold()] = model
            continue
        for name, value in slots.items():
            if given.setdefault(name, value) != value:
                raise InvalidParameter(f"the {name} is said twice: {given[name]!r} and {value!r}", hint="one for all")
    return Wanted(**given, scoped=tuple(scoped.values()))


def _is_scoped(slot: str, scoped: Mapping[tuple[str, str], Model]) -> bool:
    return any(taken == slot for taken, _ in scoped)


_SAID = {
    "k": "k-anonymity", "k_map": "k-map", "presence": "delta-presence", "l": "l-diversity", "t": "t-closeness",
    "beta": "beta-likeness", "alpha": "alpha-anonymity",
}  # fmt: skip


_SLOTS: dict[type, Callable[[Any], dict[str, Any]]] = {  # by the names that `Wanted` has, the model's own first
    KAnonymity: lambda model: {"k": model.k},
    KMap: lambda model: {"k_map": model.k},
    DeltaPresence: lambda model: {"presence": (model.low, model.high)},
    LDiversity: lambda model: {"l": model.l, "diversity": "distinct"},
    EntropyDiversity: lambda model: {"l": model.l, "diversity": "entropy"},
    RecursiveDiversity: lambda model: {"l": model.l, "diversity": "recursive", "c": model.c},
    TCloseness: lambda model: {"t": model.t, "distance": model.distance},
    BetaLikeness: lambda model: {"beta": model.beta},
    AlphaAnonymity: lambda model: {"alpha": model.alpha},
}


def _slots(model: object) -> dict[str, Any]:
    """The parameters of a model by name, such as k of KAnonymity."""
    numbers = _SLOTS.get(type(model))
    if numbers is None:
        kind = model.__name__ if isinstance(model, type) else type(model).__name__
        raise InvalidParameter(
            f"{kind} is no model with its number", hint="models=[KAnonymity(5), LDiversity(2), TCloseness(0.3)]"
        )
    return numbers(model)
