"""The whole suite on one table: every attack against every way to publish it, on one axis."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from tacit.attack import asking, census, diversity, guessing, side_channels
from tacit.attack.curves import MembershipCurve, synthesiser_curve
from tacit.attack.linking import uniqueness
from tacit.attack.people import People, open_people
from tacit.attack.publications import (
    Publication,
    PublishedRows,
    as_they_are,
    k_anonymous,
    noisy_tables,
    synthetic_rows,
    utility,
)
from tacit.attack.results import AttackResult
from tacit.attack.timing import timing_of_a_heavy_user
from tacit.core import Loss
from tacit.errors import EngineError, InvalidParameter, TacitError
from tacit.noise import SYSTEM, Source

EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(10))
ROWS_SOLVED_FOR = 500
ROWS_SHADOWED = 200
SHARE = 0.5  # of any secret in a class, at most, where classes are diverse: l = 2
_TIMES = 50
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Published:
    """One way to publish the table: what it is worth, and what every attack finds."""

    name: str
    utility: float
    results: tuple[AttackResult, ...]
    epsilon: float | None = None

    @property
    def worst(self) -> AttackResult | None:
        """The attack with the largest advantage among those that alarm; None where none does."""
        return max((one for one in self.results if one.alarms), key=lambda one: one.advantage, default=None)


@dataclass(frozen=True, slots=True)
class RiskReport:
    """Everything that was tried on one table. None of it is private: it is the owner's."""

    rows: int
    known: tuple[str, ...]
    secret: str
    published: tuple[Published, ...]
    unique: Mapping[tuple[str, ...], float]
    questions: tuple[AttackResult, ...]  # attacks by asking, and on the local model
    channels: tuple[str, ...]  # what leaves beside the answer, in words
    skipped: tuple[str, ...]
    seconds: float
    curves: tuple[MembershipCurve, ...] = ()  # of the synthesiser, on part of the table

    @property
    def results(self) -> tuple[AttackResult, ...]:
        """Every result there is."""
        published = (one for published in self.published for one in published.results)
        return (*published, *self.questions, *(curve.at() for curve in self.curves))

    def above(self, most: float, *, against: str | None = None) -> tuple[AttackResult, ...]:
        """What alarms with an advantage above `most`, of the publications whose names hold `against`."""
        wanted = [one for one in self.results if against is None or against.casefold() in one.against.casefold()]
        if against is not None and not wanted:
            names = dict.fromkeys(one.against for one in self.results)
            raise InvalidParameter(
                f"nothing that was attacked is called {against!r}", hint=f"there is {', '.join(names)}"
            )
        return tuple(one for one in wanted if one.alarms and one.advantage > most)


def attack_table(
    table: object,
    known: Sequence[str],
    *,
    secret: str,
    k: int = 5,
    epsilons: Sequence[Fraction] = EPSILONS,
    alike: Sequence[Sequence[str]] = (),
    progress: Progress = lambda what, share: None,
    source: Source = SYSTEM,
) -> RiskReport:
    """Attack a table as it is, k-anonymous, diverse, through DP-SELECT, and synthetic, knowing columns of everybody.

    A tenth of the rows is held out of every publication: what an attack finds out about those is what it can guess of
    people who are not in the data at all. `alike` names secrets that mean much the same: [["ulcer", "gastritis"]].
    """
    start = time.monotonic()
    progress("reading the table", 0.0)
    people = open_people(table, known, secret=secret, source=source)
    skipped: list[str] = []
    publications: list[Publication] = [as_they_are(people)]
    progress(f"making it {k}-anonymous", 0.1)
    twice = _k_anonymous_twice(people, k, skipped)
    publications += twice[:1]
    progress("making it diverse", 0.2)
    diverse = _k_anonymous(people, k, skipped, method="strict", share=SHARE)
    publications += diverse
    progress("asking DP-SELECT", 0.3)
    publications += noisy_tables(people, epsilons)
    if epsilons:
        progress("synthesising", 0.4)
        publications += _synthetic(people, sorted(epsilons)[len(epsilons) // 2], skipped)
    published = []
    for number, publication in enumerate(publications):
        progress(f"attacking {publication.name}", 0.45 + 0.3 * number / len(publications))
        results = _attacked(publication, people, alike, skipped)
        if len(twice) == 2 and publication is twice[0]:
            results.append(guessing.intersection(twice[0], twice[1], people))
        if publication in diverse:
            results.append(diversity.minimality(diverse[0], people, k=k, share=SHARE))
        epsilon = None if publication.loss is None else float(publication.loss.epsilon)
        published.append(Published(publication.name, utility(publication, people), tuple(results), epsilon))
    progress("synthesising again and again", 0.75)
    curves = _curves(people, epsilons, source, skipped)
    progress("asking again and again", 0.8)
    questions = _asked(people, epsilons, source, skipped)
    progress("listening at side channels", 0.95)
    return RiskReport(
        people.rows, tuple(a.name for a in people.known), people.secret.name, tuple(published), uniqueness(people),
        questions, _channels(), tuple(dict.fromkeys(skipped)), time.monotonic() - start, curves,
    )  # fmt: skip


def _k_anonymous_twice(people: People, k: int, skipped: list[str]) -> list[PublishedRows]:
    """Made k-anonymous by all known columns, and once more by all but the last: what two such tables tell together."""
    first = _k_anonymous(people, k, skipped)
    if not first or len(people.known) < 2:
        return first
    return [*first, *_k_anonymous(people, k, skipped, by=range(len(people.known) - 1))]


def _k_anonymous(people: People, k: int, skipped: list[str], **how: Any) -> list[PublishedRows]:
    """Made k-anonymous in some way; nothing where that cannot be reached."""
    try:
        return [k_anonymous(people, k, **how)]
    except TacitError as error:
        diverse = ", diverse" if "share" in how else ""
        skipped.append(f"{k}-anonymous{diverse} rows: {error.message}")
        return []


def _synthetic(people: People, epsilon: Fraction, skipped: list[str]) -> list[PublishedRows]:
    try:
        return [synthetic_rows(people, epsilon)]
    except TacitError as error:
        skipped.append(f"synthetic rows: {error.message}")
        return []


def _curves(
    people: People, epsilons: Sequence[Fraction], source: Source, skipped: list[str]
) -> tuple[MembershipCurve, ...]:
    """Who of part of the people a synthetic table gives away, by shadows: at the price of the synthetic rows above."""
    if not epsilons:
        return ()
    try:
        middle = sorted(epsilons)[len(epsilons) // 2]
        return (synthesiser_curve(people, middle, rows=ROWS_SHADOWED, shadows=4, targets=2, source=source),)
    except TacitError as error:
        skipped.append(f"membership by shadows: {error.message}")
        return ()


def _attacked(
    publication: Publication, people: People, alike: Sequence[Sequence[str]], skipped: list[str]
) -> list[AttackResult]:
    tried = [partial(guessing.inference, publication, people), partial(guessing.membership, publication, people)]
    if isinstance(publication, PublishedRows):
        rows = (guessing.linkage, guessing.homogeneity, diversity.skewness, partial(diversity.similarity, alike=alike))
        return _tried([*(partial(attack, publication, people) for attack in rows), *tried], skipped)
    return _tried(tried, skipped)


def _asked(
    people: People, epsilons: Sequence[Fraction], source: Source, skipped: list[str]
) -> tuple[AttackResult, ...]:
    """Attacks by questions about one bit: whether a person has the secret that most nearly half of all have."""
    codes = people.secret.codes[people.members]
    shares = np.bincount(codes, minlength=len(people.secret.values)) / codes.size
    bits = codes == int(np.argmin(np.abs(shares - 0.5)))
    few = bits[:ROWS_SOLVED_FOR]
    sums = 4 * few.size
    kept: dict[str, Any] = {"source": source}
    tried = [
        partial(asking.differencing, bits, asking.exactly, against="exact counts", **kept),
        partial(asking.reconstruction, few, asking.exactly, questions=sums, against="exact counts", **kept),
        partial(census.small_areas, people, **kept),
    ]
    for epsilon in epsilons:
        # a bit that changes is one person removed and another added: twice epsilon
        told: dict[str, Any] = {"against": f"DP-SELECT at ε = {float(epsilon):g}", "loss": Loss(2 * epsilon), **kept}
        halves, often, each = (asking.noisily(epsilon / parts, **kept) for parts in (2, _TIMES, sums))
        tried += [
            partial(asking.differencing, bits, halves, **told),
            partial(asking.averaging, bits, often, times=_TIMES, **told),
            partial(asking.reconstruction, few, each, questions=sums, **told),
            partial(census.small_areas, people, epsilon=epsilon, **kept),
        ]
    alone = asking.noisily(Fraction(1), **kept)
    tried += [
        partial(asking.averaging, bits, alone, times=_TIMES, against="noise without a ledger", **kept),
        partial(asking.longitudinal, bits, Fraction(1), times=_TIMES, remembered=False, **kept),
        partial(asking.longitudinal, bits, Fraction(1), times=_TIMES, remembered=True, **kept),
    ]
    return tuple(_tried(tried, skipped))


def _tried(attacks: Iterable[Callable[[], AttackResult]], skipped: list[str]) -> list[AttackResult]:
    """What the attacks find; one that cannot run on this table says why."""
    results = []
    for attack in attacks:
        try:
            results.append(attack())
        except (InvalidParameter, EngineError) as error:  # too little of something, or an extra that is not there
            skipped.append(error.message)
    return results


def _channels() -> tuple[str, ...]:
    """Side channels of this very installation, in a line each."""
    ours = asking.noisily(Fraction(1))
    digits = side_channels.floating_digits(ours, against="our Laplace noise")
    timing = side_channels.timing_of_draws()
    answers_timed = timing_of_a_heavy_user()
    texts, hostile = side_channels.error_texts()
    answers, covered = side_channels.budget_race()
    return (
        str(digits),
        str(timing),
        f"{answers_timed}" + ("; server.slot_ms hides it" if answers_timed.alarms else ""),
        f"error texts: {texts} of {hostile} hostile questions read differently on a neighbour",
        f"budget race: {answers} answers from a budget for {covered}",
    )
