"""A protocol as a small JSON object, exact to the last digit: what a device must know, and no more."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from tacit.collect.attributes import EveryAttribute, OneAttribute
from tacit.collect.frequencies.direct import Direct
from tacit.collect.frequencies.hadamard import Hadamard
from tacit.collect.frequencies.local_hash import LocalHash
from tacit.collect.frequencies.projective import Projective
from tacit.collect.frequencies.subset import SubsetSelection
from tacit.collect.frequencies.unary import Unary
from tacit.collect.numbers.hybrid import Hybrid
from tacit.collect.numbers.local_laplace import LocalLaplace
from tacit.collect.numbers.one_bit import OneBit
from tacit.collect.numbers.piecewise import Piecewise
from tacit.collect.numbers.scale import Scale
from tacit.collect.numbers.square_wave import SquareWave
from tacit.collect.texts.rappor import Rappor
from tacit.collect.texts.sketches import CountMeanSketch, HadamardSketch
from tacit.core import rational
from tacit.errors import InvalidParameter

FORMAT = "tacit-collect/1"
PROTOCOLS: dict[str, type[Any]] = {
    "direct": Direct,
    "unary": Unary,
    "local-hash": LocalHash,
    "hadamard": Hadamard,
    "subset": SubsetSelection,
    "projective": Projective,
    "laplace": LocalLaplace,
    "one-bit": OneBit,
    "piecewise": Piecewise,
    "hybrid": Hybrid,
    "square-wave": SquareWave,
    "rappor": Rappor,
    "count-mean-sketch": CountMeanSketch,
    "hadamard-sketch": HadamardSketch,
    "every-attribute": EveryAttribute,
    "one-attribute": OneAttribute,
}
_TOPIC = re.compile("[0-9a-f]{32}")
_NAMES = {kind: name for name, kind in PROTOCOLS.items()}


def describe(protocol: Any, topic: str = "") -> dict[str, Any]:
    """The protocol's name and parameters, fractions as text, ready for JSON; `id` is their fingerprint.

    A `topic` says what is asked, where that matters: reports about one topic are none about another, and a device that
    remembers what it drew for one does not tell it for another. `topic_of` makes one of a question.
    """
    plain = {"format": FORMAT, **_plain(protocol), **({"topic": _topic(topic)} if topic else {})}
    return {**plain, "id": hashlib.sha256(_canonical(plain)).hexdigest()[:8]}


def topic_of(asked: Mapping[str, Any]) -> str:
    """What is asked, a JSON object, in 32 hexadecimal digits: the same wherever the object is the same."""
    return hashlib.sha256(_canonical(asked)).hexdigest()[:32]


def from_description(description: Mapping[str, Any]) -> Any:
    """The protocol that a description names. One that does not fit its own fingerprint is refused."""
    plain = {key: value for key, value in description.items() if key != "id"}
    if plain.pop("format", None) != FORMAT:
        raise InvalidParameter(f"the description is of another format: {FORMAT} is expected")
    topic = _topic(plain.pop("topic")) if "topic" in plain else ""
    protocol = _built(plain)
    expected = describe(protocol, topic)["id"]
    if description.get("id", expected) != expected:
        raise InvalidParameter("the description does not fit its fingerprint: it was changed after it was made")
    return protocol


def fingerprint(protocol: Any, topic: str = "") -> bytes:
    """Four bytes that tell reports of one protocol, with its parameters, and topic from those of another."""
    return bytes.fromhex(describe(protocol, topic)["id"])


def _topic(text: Any) -> str:
    if not isinstance(text, str) or not _TOPIC.fullmatch(text):
        raise InvalidParameter("the topic is not one: 32 hexadecimal digits are expected", hint="topic_of makes one")
    return text


def _canonical(plain: Mapping[str, Any]) -> bytes:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, int):
        return value
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    inside = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Scale):
        return inside
    if type(value) not in _NAMES:
        raise InvalidParameter(f"there is no description of a {type(value).__name__}: it is not a protocol of ours")
    return {"protocol": _NAMES[type(value)], **inside}


def _built(plain: Any) -> Any:
    if not isinstance(plain, Mapping):
        raise InvalidParameter("the description is not one: an object with a protocol is expected")
    kind = PROTOCOLS.get(str(plain.get("protocol")))
    if kind is None:
        raise InvalidParameter("the description names no protocol of ours", hint=f"one of {', '.join(PROTOCOLS)}")
    wanted = [field.name for field in fields(kind)]
    if set(plain) != {"protocol", *wanted}:
        raise InvalidParameter(f"the description of {plain['protocol']} must have exactly: {', '.join(wanted)}")
    values = {name: _value(plain[name]) for name in wanted}
    if misplaced := [name for name in wanted if isinstance(values[name], Scale) != (name == "scale")]:
        raise InvalidParameter(f"the description of {plain['protocol']} does not fit: {misplaced[0]} is something else")
    return kind(**values)


def _value(plain: Any) -> Any:
    if isinstance(plain, str):
        return _fraction(plain)
    if isinstance(plain, list):
        if any(isinstance(part, Mapping) and "parts" in part for part in plain):
            raise InvalidParameter("attributes do not have attributes of their own")
        return tuple(_built(part) for part in plain)
    if isinstance(plain, Mapping):
        if set(plain) != {"lower", "step", "steps"}:
            raise InvalidParameter("the description of a scale must have exactly: lower, step, steps")
        return Scale(_fraction(str(plain["lower"])), _fraction(str(plain["step"])), plain["steps"])
    return plain


def _fraction(text: str) -> Fraction:
    top, slash, bottom = text.partition("/")
    if slash and top.lstrip("-").isdecimal() and bottom.isdecimal() and len(text) < 5000 and int(bottom):
        return Fraction(int(top), int(bottom))
    return rational(text, "a parameter")
