"""Passwords as SCRAM-SHA-256 verifiers (RFC 5802, RFC 7677): enough to check one, not enough to know it."""

from __future__ import annotations

import hashlib
import hmac
import stringprep
import unicodedata
from dataclasses import dataclass, field

ITERATIONS = 65_536  # about 25 ms of PBKDF2; clients that write it in Python still take well below a second
SALT_BYTES = 16
LONGEST = 1_024  # characters of a password: nobody makes us hash a megabyte
_PROHIBITED = (
    *(stringprep.in_table_c12, stringprep.in_table_c21_c22, stringprep.in_table_c3, stringprep.in_table_c4),
    *(stringprep.in_table_c5, stringprep.in_table_c6, stringprep.in_table_c7, stringprep.in_table_c8),
    *(stringprep.in_table_c9, stringprep.in_table_a1),
)


@dataclass(frozen=True, slots=True)
class ScramVerifier:
    """What the server of a SCRAM exchange knows of a password."""

    salt: bytes
    iterations: int
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)

    @classmethod
    def of(cls, password: str, *, salt: bytes, iterations: int = ITERATIONS) -> ScramVerifier:
        """The verifier of a password."""
        salted = hashlib.pbkdf2_hmac("sha256", prepared(password).encode(), salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        return cls(salt, iterations, hashlib.sha256(client_key).digest(), hmac.digest(salted, b"Server Key", "sha256"))

    @classmethod
    def of_nobody(cls, name: str, secret: bytes) -> ScramVerifier:
        """What is shown for a name that has no account: always the same for it, and the verifier of no password."""
        salt, stored, server = (hmac.digest(secret, f"{what} {name}".encode(), "sha256") for what in ("a", "b", "c"))
        return cls(salt[:SALT_BYTES], ITERATIONS, stored, server)

    def accepts(self, password: str) -> bool:
        """Whether this is the password; in a time that does not depend on how much of it is right."""
        given = ScramVerifier.of(password[:LONGEST], salt=self.salt, iterations=self.iterations)
        return hmac.compare_digest(given.stored_key, self.stored_key)


def prepared(password: str) -> str:
    """The password as clients hash it: after SASLprep (RFC 4013), or as it is where SASLprep refuses it, as libpq does.

    A letter typed as one character or as two is then the same letter.
    """
    kept = "".join(
        " " if stringprep.in_table_c12(letter) else letter for letter in password if not stringprep.in_table_b1(letter)
    )
    form = unicodedata.ucd_3_2_0.normalize("NFKC", kept)
    if not form or any(table(letter) for letter in form for table in _PROHIBITED) or _mixes_directions(form):
        return password
    return form


def _mixes_directions(text: str) -> bool:
    """Whether text that runs from right to left is broken by text that does not."""
    if not any(map(stringprep.in_table_d1, text)):
        return False
    ends = stringprep.in_table_d1(text[0]) and stringprep.in_table_d1(text[-1])
    return not ends or any(map(stringprep.in_table_d2, text))
