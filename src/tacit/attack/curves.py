"""The curve of a membership attack: how many members are found at every share of false alarms, and what that proves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.attack.auditing.certificate import Certificate
from tacit.attack.auditing.one_run import certify_guesses
from tacit.attack.people import People
from tacit.attack.publications import PublishedRows, synthetic_rows
from tacit.attack.results import AttackResult, against_controls, enough
from tacit.attack.shadows import Places, Score, Train, likelihood_ratios
from tacit.core import Loss, Number, positive
from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM, Source, uniform_integer

ROWS = 300  # of a table whose synthesiser is attacked
LOW = 0.01  # false alarms at which an attack is looked at: who is found there is found for certain
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipCurve:
    """Scores of rows in models under attack, each row in or out of each by a fair coin: the higher, the likelier in."""

    against: str
    scores: Floats  # (model, row)
    inside: NDArray[np.bool_]  # (model, row)
    loss: Loss | None = None

    @property
    def points(self) -> tuple[Floats, Floats]:
        """(false alarms, members found), as shares, for every threshold: the ROC curve."""
        order = np.argsort(-self.scores, axis=None, kind="stable")
        inside = self.inside.ravel()[order]
        there = np.append(self.scores.ravel()[order][1:] != self.scores.ravel()[order][:-1], True)  # ties fall together
        alarms, caught = np.cumsum(~inside)[there], np.cumsum(inside)[there]
        return np.append(0, alarms / max(1, alarms[-1])), np.append(0, caught / max(1, caught[-1]))

    @property
    def area(self) -> tuple[float, float, float]:
        """The area under the curve, averaged over models, and its 95 % interval: a half where nothing is told."""
        each = np.array([_area(scores, inside) for scores, inside in zip(self.scores, self.inside, strict=True)])
        if each.size < 2:
            return float(each[0]), 0.0, 1.0
        reach = _student(each.size - 1) * float(each.std(ddof=1)) / math.sqrt(each.size)
        return float(each.mean()), max(0.0, float(each.mean()) - reach), min(1.0, float(each.mean()) + reach)

    def at(self, alarms: float = LOW) -> AttackResult:
        """Members found at about so many false alarms: half the models give the threshold, the others are counted."""
        half = self.scores.shape[0] // 2
        if not half:
            raise InvalidParameter("a threshold needs a second model", hint="attack two or more")
        out = self.scores[:half][~self.inside[:half]]
        cut = float(np.quantile(out, 1 - alarms, method="higher"))
        scores, inside = self.scores[half:], self.inside[half:]
        return against_controls(
            "membership by shadows", self.against,
            (int(np.count_nonzero(scores[inside] > cut)), int(np.count_nonzero(inside))),
            (int(np.count_nonzero(scores[~inside] > cut)), int(np.count_nonzero(~inside))),
            loss=self.loss, note=f"found at about {alarms:.1%} false alarms, by the likelihood ratio of its score",
        )  # fmt: skip

    @property
    def certificate(self) -> Certificate:
        """The epsilon that the guesses prove, held against what was paid."""
        loss = self.loss
        return certify_guesses(
            self.scores.ravel(), self.inside.ravel(), delta=0.0 if loss is None else float(loss.delta),
            claimed=None if loss is None else float(loss.epsilon),
        )  # fmt: skip

    def __str__(self) -> str:
        area, low, high = self.area
        return (
            f"membership by shadows on {self.against}: area {area:.3f} [{low:.3f}, {high:.3f}],"
            f" {self.at().success:.1%} found at {LOW:.0%} false alarms; {self.certificate}"
        )


def _area(scores: Floats, inside: NDArray[np.bool_]) -> float:
    """How often a member's score is above another's; ties count half (Mann and Whitney)."""
    there, first, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    members, others = int(np.count_nonzero(inside)), int(np.count_nonzero(~inside))
    if not members or not others or not there.size:
        return 0.5
    total = float(ranks[np.ravel(first)][inside].sum())
    return (total - members * (members + 1) / 2) / (members * others)


def _student(freedom: int) -> float:
    """The 97.5 % point of Student's law: the first ones, and beyond them one that is no smaller than the true one."""
    known = {1: 12.71, 2: 4.303, 3: 3.183, 4: 2.777, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.307, 9: 2.263}
    return known.get(freedom, 2.229)


def membership_curve(
    train: Train,
    score: Score,
    population: int,
    *,
    shadows: int = 8,
    targets: int = 4,
    against: str = "a model",
    loss: Loss | None = None,
    source: Source = SYSTEM,
) -> MembershipCurve:
    """Attack `targets` models by the likelihood ratio of each row's score, learnt on `shadows` others (Carlini 2022).

    Every row is in every model by a fair coin of its own: so the guesses about the targets also prove an epsilon.
    """
    enough(population // 2, "membership by shadows")
    if shadows < 4 or targets < 2:
        raise InvalidParameter("a curve needs 4 shadows and 2 targets at least", hint="train more")
    models = shadows + targets
    inside = uniform_integer(2, models * population, source=source).reshape(models, population).astype(np.bool_)
    everybody = np.arange(population)
    scores = np.stack([np.asarray(score(train(np.flatnonzero(who)), everybody)) for who in inside])
    ratios = [likelihood_ratios(seen, inside[:shadows], scores[:shadows]) for seen in scores[shadows:]]
    return MembershipCurve(against=against, scores=np.stack(ratios), inside=inside[shadows:], loss=loss)


def synthesiser_curve(
    people: People,
    epsilon: Number,
    *,
    delta: Number = "1e-6",
    rows: int = ROWS,
    shadows: int = 8,
    targets: int = 4,
    source: Source = SYSTEM,
) -> MembershipCurve:
    """The curve of an attack on `db.synthesise` at a price, on so many of the people.

    A row fits a synthetic table as its values do, two by two: by the logarithm of how often each pair stands there.
    """
    loss = Loss(positive(epsilon, "epsilon"), delta)
    chosen = np.concatenate([people.members, people.controls])[:rows]

    def train(members: Places) -> PublishedRows:
        inside = People(people.known, people.secret, chosen[members], people.controls)
        return synthetic_rows(inside, loss.epsilon, delta=loss.delta)

    return membership_curve(
        train, lambda table, members: _fits(table, people, chosen[members]), chosen.size,
        shadows=shadows, targets=targets, against=f"synthetic rows at ε = {float(loss.epsilon):g}", loss=loss,
        source=source,
    )  # fmt: skip


def _fits(table: PublishedRows, people: People, rows: Places) -> Floats:
    """How often each two values of a row stand together in the table, as logarithms, added up."""
    columns = (*people.known, people.secret)
    classes, secrets = np.nonzero(table.secrets)
    weights = table.secrets[classes, secrets]
    codes = [*(table.cells[index][classes] for index in range(len(people.known))), secrets]  # one of each kind of row
    total = np.zeros(rows.size)
    for index, column in enumerate(columns):
        for other, beside in enumerate(columns[:index]):
            counts = np.zeros((len(column.values), len(beside.values)))
            np.add.at(counts, (codes[index], codes[other]), weights)
            total += np.log(counts[column.codes[rows], beside.codes[rows]] + 0.5)
    return total
