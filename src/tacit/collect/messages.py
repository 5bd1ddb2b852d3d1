"""Reports as they travel: a version, the fingerprint of protocol and topic, the body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tacit.collect.descriptions import fingerprint
from tacit.collect.reports import Bodies

VERSION = 1
HEAD = 5  # bytes before the body


def head(protocol: Any, topic: str = "") -> bytes:
    """What every message of this protocol, about this topic, starts with."""
    return bytes([VERSION]) + fingerprint(protocol, topic)


def messages(protocol: Any, bodies: Bodies, *, topic: str = "") -> list[bytes]:
    """Each report as the bytes that a device sends."""
    first = head(protocol, topic)
    return [first + body.tobytes() for body in bodies]


def open_messages(protocol: Any, received: Iterable[bytes], *, topic: str = "") -> tuple[Bodies, int]:
    """The bodies of messages, and how many were dropped for a wrong length, version or fingerprint.

    Nothing that arrives can make this fail: a body that holds nonsense is dropped when it is tallied.
    """
    first, width = head(protocol, topic), protocol.width
    good, seen = bytearray(), 0
    for message in received:
        seen += 1
        if isinstance(message, bytes) and len(message) == HEAD + width and message[:HEAD] == first:
            good += message[HEAD:]
    bodies = np.frombuffer(bytes(good), dtype=np.uint8).reshape(-1, width)
    return bodies, seen - bodies.shape[0]
