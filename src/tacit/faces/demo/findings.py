"""What the tour finds: plain values, which the report draws."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.curator import Release
from tacit.errors import TacitError
from tacit.faces.budget_status import BudgetStatus
from tacit.faces.demo.questions import Question

NOISE = Fraction(20)  # the scale of one answer at ε = 0.05


@dataclass(frozen=True, slots=True)
class DemoAnswer:
    """A question and what came of it: an answer beside the truth, or a refusal."""

    question: Question
    release: Release | None
    truth: tuple[tuple[object, ...], ...]  # of the shape of the answer's rows
    left_out: int  # true groups too small to be shown
    refusal: TacitError | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Attack:
    """Averaging: what repeated questions gave, at tacit and at a system that forgets what it has answered."""

    repeats: int
    different: int  # answers among the repeats
    fresh: tuple[int, ...]
    refusal: TacitError | None
    truth: int
    forgetful: tuple[float, ...]  # its running mean


@dataclass(frozen=True, slots=True)
class Tour:
    """All that the demo found, for its report."""

    rows: int
    seconds: float
    tax: tuple[DemoAnswer, ...]
    clinic: tuple[DemoAnswer, ...]
    attack: Attack
    tax_standing: BudgetStatus
    clinic_standing: BudgetStatus
    entries: int


def number_text(value: object) -> str:
    """A true number as people write it."""
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 1_000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
