"""Questions for public tables alone, answered: no row of anybody is read, no noise is added, and nothing is charged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tacit.core import NOTHING
from tacit.core.digests import digest
from tacit.curator.computing.computing import apart
from tacit.curator.explaining.explain import Explanation
from tacit.curator.forms.release import Receipt, Release
from tacit.curator.forms.shape import computed_shape
from tacit.engines.answers.process import AnswerEngine, Computed, ComputingFailed, HeldTable
from tacit.errors import QueryRefused
from tacit.policy import Policy
from tacit.sql.postprocessing.public_only import PublicQuestion

_CONFIDENCE = Fraction(95, 100)
_NOTE = "public tables alone are read: there is no noise, and nothing to pay for"
_NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class PublicAnswers:
    """Answers questions over a policy's public tables, in the process that computes from answers."""

    policy: Policy
    engine: AnswerEngine
    table: Callable[[str], HeldTable]

    def explain(self, asked: PublicQuestion) -> Explanation:
        """Which columns it would have. Free, as the answer is."""
        computed = self._computed(asked)
        return Explanation(
            loss=NOTHING,
            unit=_NOBODY,
            bounding="nobody's rows are read",
            measurements=(),
            notes=(_NOTE,),
            sql=(),
            pretty=(),
            plan=digest(asked.over.text),
            confidence=_CONFIDENCE,
            outputs=apart(computed.columns),
            errors=(None,) * len(computed.columns),
            exact=(True,) * len(computed.columns),
            shapes=tuple(computed_shape(kind, noisy=False) for kind in computed.types),
        )

    def ask(self, asked: PublicQuestion) -> Release:
        """The rows: of what is left of a budget, nothing is said yet."""
        computed = self._computed(asked)
        return Release(
            columns=apart(computed.columns),
            rows=computed.rows,
            errors=tuple((None,) * len(row) for row in computed.rows),
            confidence=_CONFIDENCE,
            cost=NOTHING,
            left=None,
            reused="public tables",
            notes=(_NOTE,),
            receipt=Receipt(
                plan=digest(asked.over.text),
                policy=self.policy.version,
                entry="",
                guarantee=_NOTE,
                unit=_NOBODY,
                mechanisms=(),
            ),
            shapes=tuple(computed_shape(kind, noisy=False) for kind in computed.types),
            keys=(),
        )

    def _computed(self, asked: PublicQuestion) -> Computed:
        tables = [self.table(name) for name in asked.over.public]
        try:
            return self.engine.compute([asked.over.text], tables)[0]
        except ComputingFailed as failed:
            raise QueryRefused(
                f"what is asked of public tables failed: {str(failed)[:200]}", hint="it is computed by DuckDB's SQL"
            ) from None
