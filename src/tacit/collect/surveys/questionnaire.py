"""The survey's file: what is asked, what may be answered, and what an answer costs."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.collect.best import best
from tacit.collect.descriptions import topic_of
from tacit.collect.frequencies.direct import Direct
from tacit.collect.frequencies.hadamard import Hadamard
from tacit.collect.frequencies.local_hash import LocalHash
from tacit.collect.frequencies.projective import Projective
from tacit.collect.frequencies.subset import SubsetSelection
from tacit.collect.frequencies.unary import Unary
from tacit.collect.messages import messages
from tacit.collect.numbers.piecewise import Piecewise
from tacit.core import Bounds, Loss, decimal_text
from tacit.errors import InvalidParameter, PolicyError, TacitError
from tacit.noise import SYSTEM, Source

MAKERS = {
    "direct": Direct.costing,
    "unary": Unary.optimised,
    "local-hash": LocalHash.costing,
    "hadamard": Hadamard.costing,
    "subset": SubsetSelection.costing,
    "projective": Projective.costing,
}
MOST_ANSWERS = 200
_BOUNDS = ("lower", "upper", "step")
_KEYS = {"name", "question", "answers", *_BOUNDS}
_PRIVACY = {"coins", "epsilon", "protocol"}
_OF_BEST = {"direct": "direct", "local hash": "local-hash", "Hadamard": "hadamard", "projective": "projective"}


@dataclass(frozen=True, slots=True)
class Survey:
    """A question with its answers, or with the bounds of a number; and the protocol that answers go through."""

    path: Path
    name: str
    question: str
    answers: tuple[str, ...]  # empty where a number is asked for
    bounds: Bounds | None
    protocol: Any

    @property
    def reports(self) -> Path:
        """Where reports are kept, beside the survey's file."""
        return self.path.with_suffix(".reports.jsonl")

    @property
    def topic(self) -> str:
        """Which survey a report is of: its name, its question and what may be answered say it, and nothing else."""
        bounds = self.bounds
        return topic_of(
            {
                "name": self.name,
                "question": self.question,
                "answers": list(self.answers),
                "bounds": bounds and {key: decimal_text(getattr(bounds, key)) for key in _BOUNDS},
            }
        )

    def report(self, answer: str | float, source: Source = SYSTEM) -> bytes:
        """The message that a device sends for one answer: randomised here, and private from here on.

        Whoever answers twice pays twice: keep the message and send it again, as a browser does.
        """
        return messages(self.protocol, self.protocol.encode([self._value(answer)], source), topic=self.topic)[0]

    def _value(self, answer: str | float) -> float:
        """What the protocol encodes. No message repeats the answer: it may be a true one."""
        if self.bounds is None:
            if answer not in self.answers:
                raise InvalidParameter("that is none of the answers", hint=f"there are {', '.join(self.answers)}")
            return self.answers.index(str(answer))
        if isinstance(answer, str) or not math.isfinite(answer):
            raise InvalidParameter("the question asks for a number")
        return answer


def draft(name: str, question: str, answers: list[str], *, number: str | None = None, epsilon: str | None) -> str:
    """The text of a new survey's file. Without an epsilon it is two fair coins, and the file says what that costs."""
    if number is not None:
        asked = "".join(f"{key} = {_quoted(part)}\n" for key, part in zip(_BOUNDS, _ends(number), strict=True))
    elif len(answers) < 2:
        raise InvalidParameter(
            "one answer is no choice: a question has two answers or more", hint="add another --answer, or --number"
        )
    else:
        asked = f"answers = [{', '.join(_quoted(answer) for answer in answers)}]\n"
    return (
        "# A survey in the local model: every browser randomises its answer before it leaves.\n"
        f"[survey]\nname = {_quoted(name)}\nquestion = {_quoted(question)}\n{asked}\n[privacy]\n"
        + _privacy(0 if number is not None else len(answers), epsilon)
    )


def write_draft(path: Path, text: str) -> Survey:
    """The survey that a text describes, written to a file of its own; what cannot be read again is not left there."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise PolicyError(
            f"{path.name} is there already: it is not overwritten", hint="name another file, or edit this one"
        ) from None
    except OSError as error:
        raise PolicyError(f"{path.name} cannot be written: {error.strerror}") from None
    try:
        return load(path)
    except Exception:
        path.unlink()
        raise


def _privacy(answers: int, epsilon: str | None) -> str:
    if epsilon is None and answers == 2:
        return (
            "# The truth if a first coin shows heads, else what a second, fair coin says.\n"
            "# A fair first coin (1/2) costs ln 3 = 1.0986: an answer makes nothing more than three times as likely.\n"
            'coins = "1/2"\n'
        )
    if epsilon is None:
        raise InvalidParameter(
            "the price of an answer is missing: two coins are for two answers", hint="add --epsilon, such as 1"
        )
    chosen = (
        f"protocol = {_quoted(_chosen(answers, epsilon))}  # the least error in a short message\n" if answers else ""
    )
    return (
        "# What one answer costs the person who gives it: it makes nothing more than e^epsilon times as likely.\n"
        f"epsilon = {_quoted(epsilon)}\n{chosen}"
    )


def _ends(number: str) -> list[str]:
    parts = number.split(":")
    if len(parts) != 3:
        raise InvalidParameter(
            f"the number's bounds cannot be read: {number!r}", hint="write LOWER:UPPER:STEP, as 0:100:1"
        )
    return parts


def only_one() -> Path:
    """The one survey in this directory, where none is named."""
    paths = [path for path in sorted(Path().glob("*.toml")) if "\n[survey]" in "\n" + _peek(path)]
    if len(paths) == 1:
        return paths[0]
    here = "there is none here" if not paths else f"there are {len(paths)} here"
    raise InvalidParameter(f"no survey is named, and {here}", hint="name its file, such as doping.toml")


def _peek(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def load(path: Path) -> Survey:
    """Read a survey's file, or say which line to mend."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise PolicyError(
            f"{path.name}: there is no such survey", hint=f"make one with: tacit survey new {path.name}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path.name}: not TOML: {error}") from None
    except IsADirectoryError:
        raise PolicyError(f"{path}: a directory is no survey", hint="name its file, such as doping.toml") from None
    except OSError as error:
        raise PolicyError(f"{path.name}: cannot be read: {error.strerror}") from None
    try:
        return _survey(path, document)
    except TacitError as error:
        raise PolicyError(f"{path.name}: {error.message}", hint=error.hint) from None


def _survey(path: Path, raw: dict[str, Any]) -> Survey:
    asked, privacy = _table(raw, "survey", _KEYS), _table(raw, "privacy", _PRIVACY)
    if extra := sorted(raw.keys() - {"survey", "privacy"}):
        raise PolicyError(f"unknown table: {extra[0]}", hint="a survey has [survey] and [privacy]")
    question = _text(asked, "question")
    name = _text(asked, "name") if "name" in asked else path.stem
    answers = _answers(asked)
    bounds = None if answers else _bounds(asked)
    return Survey(path, name, question, answers, bounds, _protocol(privacy, answers, bounds))


def _table(raw: dict[str, Any], name: str, keys: set[str]) -> dict[str, Any]:
    table = raw.get(name)
    if not isinstance(table, dict):
        raise PolicyError(f"the table [{name}] is missing", hint="tacit survey new shows what a survey looks like")
    if extra := sorted(table.keys() - keys):
        raise PolicyError(f"unknown key in [{name}]: {extra[0]}", hint=f"there are {', '.join(sorted(keys))}")
    return table


def _text(table: dict[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise PolicyError(f"{key} is missing: it must be a text")
    return value


def _answers(asked: dict[str, Any]) -> tuple[str, ...]:
    answers = asked.get("answers", [])
    texts = isinstance(answers, list) and all(isinstance(one, str) and one.strip() for one in answers)
    if not texts or len(set(answers)) != len(answers):
        raise PolicyError("answers must be a list of different texts")
    if answers and not 2 <= len(answers) <= MOST_ANSWERS:
        raise PolicyError(f"there must be from 2 to {MOST_ANSWERS} answers: got {len(answers)}")
    if answers and set(_BOUNDS) & asked.keys():
        raise PolicyError("answers and bounds are both there: a question asks for one of them")
    return tuple(answers)


def _bounds(asked: dict[str, Any]) -> Bounds:
    if missing := [key for key in _BOUNDS if key not in asked]:
        raise PolicyError(f"{missing[0]} is missing", hint='write answers = ["no", "yes"], or lower, upper and step')
    return Bounds(asked["lower"], asked["upper"], step=asked["step"])


def _protocol(privacy: dict[str, Any], answers: tuple[str, ...], bounds: Bounds | None) -> Any:
    if "coins" in privacy:
        if len(answers) != 2 or privacy.keys() != {"coins"}:
            raise PolicyError("coins are for two answers, and say it all", hint="write epsilon instead")
        return Direct.two_coin(privacy["coins"])
    if "epsilon" not in privacy:
        raise PolicyError("the price of an answer is missing", hint='write coins = "1/2", or epsilon = 1')
    loss = Loss(privacy["epsilon"])
    if bounds is not None:
        return Piecewise.costing(loss, bounds=bounds)
    name = privacy.get("protocol", "direct")
    if name not in MAKERS:
        raise PolicyError(f"there is no protocol {name!r} for answers", hint=f"one of {', '.join(MAKERS)}")
    return MAKERS[name](loss, domain=len(answers))


def _chosen(answers: int, epsilon: str) -> str:
    choice = best(answers, epsilon, n=1000, bits=32)
    return _OF_BEST.get(choice.best.name, "direct")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match[0]):04x}", escaped) + '"'
