"""The file of accounts: what it holds, as a value and as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.errors import PolicyError
from tacit.faces.server.scram import ScramVerifier
from tacit.policy.reading.names import fold

FORMAT = 1


@dataclass(frozen=True, slots=True)
class TokenHash:
    """A token that was given out: its hash, what it is for, and when (seconds since 1970)."""

    hash: str
    note: str
    at: int


@dataclass(frozen=True, slots=True)
class Credentials:
    """An account with what lets it in."""

    name: str
    role: str
    verifier: ScramVerifier | None
    tokens: tuple[TokenHash, ...]


@dataclass(frozen=True, slots=True)
class AccountBook:
    """All accounts, by name; and the secret that answers for names without one."""

    secret: bytes = field(repr=False)
    accounts: tuple[Credentials, ...]
    _names: Mapping[str, Credentials] = field(init=False, repr=False, compare=False)
    _owners: Mapping[str, Credentials] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_names", {fold(one.name): one for one in self.accounts})
        object.__setattr__(self, "_owners", {token.hash: one for one in self.accounts for token in one.tokens})

    def find(self, name: str) -> Credentials | None:
        """The account of that name, whatever its case."""
        return self._names.get(fold(name))

    def owner(self, token_hash: str) -> Credentials | None:
        """The account that has a token of this hash; None where nobody has."""
        return self._owners.get(token_hash)

    def with_account(self, credentials: Credentials) -> AccountBook:
        """A book with this account instead of the one of its name."""
        others = self.without(credentials.name).accounts
        return AccountBook(self.secret, tuple(sorted((*others, credentials), key=lambda one: fold(one.name))))

    def without(self, name: str) -> AccountBook:
        """A book without the account of that name, whatever its case."""
        return AccountBook(self.secret, tuple(one for one in self.accounts if fold(one.name) != fold(name)))

    def to_bytes(self) -> bytes:
        """The file's text."""
        accounts = {
            one.name: {
                "role": one.role,
                "password": None if one.verifier is None else _plain(one.verifier),
                "tokens": [{"sha256": token.hash, "note": token.note, "at": token.at} for token in one.tokens],
            }
            for one in self.accounts
        }
        whole = {"format": FORMAT, "secret": self.secret.hex(), "accounts": accounts}
        return (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode()


def book_of_bytes(content: bytes, *, name: str) -> AccountBook:
    """What the text of a file says; a PolicyError where it is not one of ours."""
    try:
        whole = json.loads(content)
        accounts = tuple(_credentials(who, raw) for who, raw in whole["accounts"].items())
        book = AccountBook(bytes.fromhex(whole["secret"]), accounts)
        known = whole["format"] == FORMAT
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        known = False
    if not known:
        hint = "restore a copy, or remove it and add the accounts again"
        raise PolicyError(f"{name} is not a file of accounts", hint=hint)
    return book


def _credentials(name: str, raw: Mapping[str, Any]) -> Credentials:
    if raw["role"] not in {"analyst", "curator"}:
        raise ValueError(raw["role"])
    tokens = tuple(TokenHash(str(one["sha256"]), str(one["note"]), int(one["at"])) for one in raw["tokens"])
    password = raw["password"]
    verifier = None
    if password is not None:
        salt, stored, server = (bytes.fromhex(password[key]) for key in ("salt", "stored_key", "server_key"))
        verifier = ScramVerifier(salt, int(password["iterations"]), stored, server)
    return Credentials(name, raw["role"], verifier, tokens)


def _plain(verifier: ScramVerifier) -> dict[str, object]:
    keys = {key: getattr(verifier, key).hex() for key in ("salt", "stored_key", "server_key")}
    return {"iterations": verifier.iterations, **keys}
