"""One answer told ever more precisely, for the price of the last telling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from tacit.core import NOTHING, LaplaceEvent, Loss, Number
from tacit.errors import InvalidParameter, QueryRefused
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.limits import movement, spendable
from tacit.noise import MAX_SCALE, SYSTEM, IntArray, Source, saturating_add, whole_numbers
from tacit.noise.coarsening import coarsening
from tacit.noise.scales import fitting_scale


@dataclass(frozen=True, slots=True)
class GradualRelease:
    """Release the same whole numbers with less and less noise, each telling a noisier copy of the next.

    The least noisy telling is drawn first; each earlier one adds further noise to it and so says nothing more about
    the data. They are revealed in the opposite order, noisiest first.

    Guarantee:    all tellings up to the j-th together are pure ε-DP with ε = sensitivity / scales[j]: given the j-th,
                  the earlier ones are drawn without the data, and the j-th alone is a Laplace release. Independent
                  tellings would cost the sum. Whoever decides on going further after each telling must pay for the
                  next before it is revealed.
    Sensitivity:  L1 over all the values, in steps.
    Error:        the j-th telling has exactly the error of Laplace noise of scale scales[j].
    Exactness:    rational scales, exact law: coarsening noise is nothing or two-sided geometric, by an exact coin.
    Reference:    Koufogiannis, Han & Pappas, J. Privacy and Confidentiality 2016; Ligett et al., NeurIPS 2017.
    """

    scales: tuple[Fraction, ...]

    def __init__(self, scales: Sequence[Number]) -> None:
        exact = tuple(fitting_scale(scale, most=MAX_SCALE) for scale in scales)
        if not exact:
            raise InvalidParameter("there is nothing to tell: give at least one scale")
        if any(later >= earlier for earlier, later in pairwise(exact)):
            raise InvalidParameter(
                "the scales do not fall: every telling must have less noise than the one before",
                hint="list the scales from the largest down, or the losses from the smallest up",
            )
        object.__setattr__(self, "scales", exact)

    @classmethod
    def costing(cls, losses: Loss | Sequence[Loss], sensitivity: Number) -> GradualRelease:
        """The least noise for which all tellings up to the j-th cost no more than `losses[j]`."""
        steps = [losses] if isinstance(losses, Loss) else list(losses)
        return cls([movement(sensitivity) / spendable(loss) for loss in steps])

    def loss(self, sensitivity: Number, *, tellings: int | None = None) -> Loss:
        """What the first `tellings` cost together; all of them, unless told otherwise."""
        return self._telling(tellings).loss(sensitivity)

    def event(self, sensitivity: Number, *, tellings: int | None = None) -> LaplaceEvent:
        """What an accountant needs to know of the first `tellings` together."""
        return self._telling(tellings).event(sensitivity)

    def error(self, confidence: Number, *, count: int = 1, tellings: int | None = None) -> int:
        """The least t that, with this confidence, none of `count` values of the last of these strays beyond."""
        return self._telling(tellings).error(confidence, count=count)

    @property
    def variances(self) -> tuple[float, ...]:
        """The variance of each telling."""
        return tuple(Laplace(scale).variance for scale in self.scales)

    def _telling(self, number: int | None) -> Laplace:
        last = len(self.scales) if number is None else number
        if not 1 <= last <= len(self.scales):
            raise InvalidParameter(f"there is no telling {last}: there are {len(self.scales)}")
        return Laplace(self.scales[last - 1])

    def release(self, values: int | Sequence[int] | IntArray, source: Source = SYSTEM) -> list[IntArray]:
        """All tellings at once, noisiest first: the price is the last one's."""
        tellings = [Laplace(self.scales[-1]).release(whole_numbers(values), source)]
        for fine, coarse in zip(self.scales[:0:-1], self.scales[-2::-1], strict=True):
            finer = tellings[0]
            more = coarsening(fine, coarse, size=finer.size, source=source)
            tellings.insert(0, saturating_add(finer, more.reshape(finer.shape)))
        return tellings

    def start(
        self, values: int | Sequence[int] | IntArray, source: Source = SYSTEM, *, sensitivity: Number
    ) -> GradualRun:
        """Draw all tellings of these values, and reveal none yet."""
        return GradualRun(self, self.release(values, source), movement(sensitivity))


class GradualRun:
    """Tellings that wait to be revealed. It holds secrets, so it shows none of them."""

    __slots__ = ("_mechanism", "_revealed", "_sensitivity", "_tellings")

    def __init__(self, mechanism: GradualRelease, tellings: list[IntArray], sensitivity: Fraction) -> None:
        self._mechanism, self._tellings, self._sensitivity = mechanism, tellings, sensitivity
        self._revealed = 0

    @property
    def revealed(self) -> int:
        """How many tellings have been revealed."""
        return self._revealed

    @property
    def spent(self) -> Loss:
        """What all revealed tellings cost together: the loss of the last of them."""
        return self._mechanism.loss(self._sensitivity, tellings=self.revealed) if self.revealed else NOTHING

    @property
    def next_price(self) -> Loss:
        """What the next telling adds to `spent`: debit it before revealing."""
        self._require_more()
        after = self._mechanism.loss(self._sensitivity, tellings=self.revealed + 1)
        return Loss(after.epsilon - self.spent.epsilon)

    def reveal(self) -> IntArray:
        """The next telling, less noisy than those before."""
        self._require_more()
        self._revealed += 1
        return self._tellings[self._revealed - 1]

    def _require_more(self) -> None:
        if self._revealed == len(self._tellings):
            raise QueryRefused("everything has been told: there is no less noisy telling left")

    def __repr__(self) -> str:
        return f"<gradual run, {self.revealed} of {len(self._mechanism.scales)} told>"
