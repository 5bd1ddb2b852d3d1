"""What is said of a job: how its questions are answered, whose presence is hidden, how much of each unit counts."""

from __future__ import annotations

from collections.abc import Iterator

from tacit.core import Loss
from tacit.curator.explaining.explain import accuracy_notes, bounding_text, describe, selection_text
from tacit.curator.jobs.job import Job
from tacit.curator.jobs.pieces import Joint, Lone, Piece
from tacit.mechanisms.strategy import StrategyNoise
from tacit.sql import Measurement, Plan

_CONSISTENT = "made consistent by least squares: "
_SAME_ROWS = "every set counts the same rows: those with a value in the domain of each public key"


def strategies(job: Job) -> tuple[str, ...]:
    """How the questions are answered, a line for each workload and one for all the others."""
    noun = "question" if job.sets is None else "set"
    lines = [
        f"{len(piece.members)} {noun}s together, by {piece.strategy}, for {piece.loss}"
        for piece in job.pieces
        if isinstance(piece, Joint)
    ]
    alone = [piece.plan.loss for piece in job.pieces if isinstance(piece, Lone)]
    if alone:
        count = f"{len(alone)} {noun}{'s' if len(alone) > 1 else ''} alone"
        lines.append(f"{count}, for {sum(alone, Loss(0))}")
    return tuple(lines)


def known_text(count: int) -> str:
    """What is said of the questions of a batch that kept answers serve."""
    return f"{count} question{'s' if count > 1 else ''} from earlier answers, free"


def known_notes(count: int, rest: Job | None) -> tuple[str, ...]:
    """What is said beforehand of a batch of which kept answers serve so many questions: what the others cost."""
    paid = "asked now, it is free" if rest is None else f"asked now, the rest costs {rest.loss}"
    return (f"{known_text(count)}: {paid}",)


def gains(job: Job) -> tuple[str, ...]:
    """What each workload gains beside the best split among its questions one by one."""
    listed = [piece.gain for piece in job.pieces if isinstance(piece, Joint)]
    return tuple(
        f"the mean squared error is {gain:,.{0 if gain > 10 else 1}f} times lower than one by one, at the best split"
        for gain in listed
    )


def plan_notes(plan: Plan) -> tuple[str, ...]:
    """What the reader of one answer must know of how it was got."""
    notes = [*plan.notes, *accuracy_notes(plan), f"counts {bounding_text(plan)}"]
    chosen = selection_text(plan)
    return (*notes, f"keys are {chosen}; keys below it are left out") if chosen is not None else tuple(notes)


def workload_notes(joint: Joint) -> tuple[str, ...]:
    """The same of a question that is answered together with others."""
    together = f"answered with {len(joint.members) - 1} other questions, by {joint.strategy}"
    return together, f"{_CONSISTENT}answers that should add up do", f"counts {_cells(joint)}"


def sets_notes(job: Job) -> tuple[str, ...]:
    """The notes that hold of all grouping sets of a statement."""
    notes = [note for piece in job.pieces for note in (*piece.plan.notes, *accuracy_notes(piece.plan))]
    notes += strategies(job)
    if any(isinstance(piece, Joint) for piece in job.pieces):
        notes.append(f"{_CONSISTENT}a total is the sum of its cells")
    if job.sets is not None and any(key.is_public for key in job.sets.whole.keys):
        notes.append(_SAME_ROWS)
    notes += [f"{whose}keys are {text}; keys below it are left out" for whose, text in selections(job)]
    return tuple(dict.fromkeys(notes))


def selections(job: Job) -> list[tuple[str, str]]:
    """How private keys qualify: for each piece that has some, whose they are and what is said of them."""
    texts = [selection_text(piece.plan) for piece in job.pieces]
    return [(_whose(job, index), text) for index, text in enumerate(texts) if text is not None]


def mechanisms(job: Job) -> tuple[str, ...]:
    """The measurements behind a job."""
    return tuple(f"{_whose(job, i)}{text}" for i, piece in enumerate(job.pieces) for text in measured(piece))


def measured(piece: Piece) -> Iterator[str]:
    """The measurements behind a piece."""
    if isinstance(piece, Lone):
        yield from map(describe, piece.plan.measurements)
    else:
        pairs = zip(piece.plan.measurements, piece.noises, strict=True)
        yield from (_described(measurement, noise) for measurement, noise in pairs)


def _described(measurement: Measurement, noise: StrategyNoise) -> str:
    step = float(measurement.step)
    lattices = [float(each.law.size) for each in noise.noises]
    sizes = [size / norm * step for size, norm in zip(lattices, noise.norms, strict=True)]
    span = f"{min(sizes):,.6g}" if min(sizes) == max(sizes) else f"{min(sizes):,.6g} to {max(sizes):,.6g}"
    moved = f"sensitivity {measurement.l1 * step:,.6g} each"
    return f"{measurement.measure.label}, {noise.strategy}: {noise.noises[0].law.words} {span}, {moved}"


def _whose(job: Job, piece: int) -> str:
    """The set that a piece answers, if it is one alone; questions of a batch have no name."""
    if job.sets is None:
        return ""
    sets = [job.sets.label(index) for index, (its_piece, _) in enumerate(job.piece_of) if its_piece == piece]
    return f"{sets[0]}: " if len(sets) == 1 else ""


def units(job: Job) -> str:
    """The units whose presence the answers hide."""
    return "; ".join(dict.fromkeys(str(piece.plan.unit) for piece in job.pieces))


def counted(job: Job) -> str:
    """How much of one unit counts, wherever that is said in different words."""
    texts = (_cells(piece) if isinstance(piece, Joint) else bounding_text(piece.plan) for piece in job.pieces)
    return "; ".join(dict.fromkeys(texts))


def _cells(joint: Joint) -> str:
    text = bounding_text(joint.plan)
    return text if joint.plan.unit.is_row else f"{text}, a cell being a group"
