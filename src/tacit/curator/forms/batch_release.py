"""What leaves of a batch: an answer to each question, one price, and one receipt."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from dataclasses import dataclass

from tacit.core import Budget, Loss, decimal_text
from tacit.curator.forms.cells import in_one_line, in_one_text
from tacit.curator.forms.release import NOISE, Receipt, Release, covering, left_fields


@dataclass(frozen=True, slots=True, repr=False)
class BatchRelease:
    """Private answers to several questions, in the order they were asked in. `cost` is the price of them all."""

    answers: tuple[Release, ...]
    cost: Loss
    left: Budget | None
    reused: str | None
    strategies: tuple[str, ...]
    receipt: Receipt

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, index: int) -> Release:
        return self.answers[index]

    def __iter__(self) -> Iterator[Release]:
        return iter(self.answers)

    def footer(self) -> str:
        """What it cost and what is left, in one line."""
        paid = f"reused: {self.reused}, free" if self.reused else f"cost {self.cost} in all"
        left = "" if self.left is None else f"; left {self.left}"
        covered = covering(NOISE, *sorted({answer.confidence for answer in self.answers}))
        return f"{len(self)} answers; {paid}{left}; {covered}; hides {self.receipt.unit}"

    def to_dict(self) -> dict[str, object]:
        """Plain values, as the command line prints them."""
        return {
            "answers": [answer.to_dict() for answer in self.answers],
            "epsilon": decimal_text(self.cost.epsilon),
            "delta": decimal_text(self.cost.delta),
            "left": left_fields(self.left),
            "reused": self.reused,
            "strategies": list(self.strategies),
            "receipt": {"plan": self.receipt.plan, "policy": self.receipt.policy, "entry": self.receipt.entry},
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """One JSON object."""
        return in_one_text(json.dumps(self.to_dict(), indent=indent, ensure_ascii=False))

    def to_markdown(self) -> str:
        """A table for each question, and one line of what they cost."""
        tables = [answer.to_markdown().rpartition("\n\n")[0] for answer in self.answers]
        return "\n\n".join([*tables, *self.strategies, self.footer()])

    def __str__(self) -> str:
        tables = [f"{number}\n{answer.text_table()}" for number, answer in enumerate(self.answers, 1)]
        said = [self.footer(), *(f"note: {text}" for text in self.strategies)]
        return "\n".join([*tables, *map(in_one_line, said)])

    def __repr__(self) -> str:
        return f"<tacit.BatchRelease: {in_one_line(self.footer())}>"

    def _repr_html_(self) -> str:
        tables = "".join(answer.html_table() for answer in self.answers)
        notes = "".join(f"<li>{html.escape(text)}</li>" for text in self.strategies)
        return f"{tables}<p>{html.escape(self.footer())}</p><ul>{notes}</ul>"
