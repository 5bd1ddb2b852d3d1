"""Who may come in through the doors: a file beside the ledger, of accounts, password verifiers and hashes of tokens."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tacit.errors import PolicyError
from tacit.faces.server.account_file import AccountBook, Credentials, TokenHash, book_of_bytes
from tacit.faces.server.scram import LONGEST, SALT_BYTES, ScramVerifier
from tacit.noise import SYSTEM
from tacit.policy import Policy
from tacit.policy.reading.names import fold

Role = Literal["analyst", "curator"]
SHORTEST = 8  # characters of a password
TOKEN_MARK = "tacit_"  # noqa: S105 - so that one that was published by mistake can be searched for
_TOKEN_BYTES = 32
_LONGEST_TOKEN = 128
_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who has proved who they are: an analyst of the policy, or the curator."""

    name: str
    role: Role


class Accounts:
    """The accounts in a file. Safe to use from many threads; a change by another process is seen at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen: tuple[_Stamp, AccountBook] | None = None

    @classmethod
    def of(cls, policy: Policy) -> Accounts:
        """The accounts of a policy's dataset. They lie beside its ledger; beside the policy, where that is a server."""
        dataset = policy.dataset
        beside = dataset.ledger_path if dataset.ledger_mark is None else dataset.base / dataset.name
        return cls(beside.parent / f"{dataset.name}.accounts")

    def scram(self, name: str) -> ScramVerifier:
        """What a SCRAM exchange needs; for a name without an account one that no password fits, always the same."""
        book = self._book()
        verifier, nobody = self._verifier(book, name), ScramVerifier.of_nobody(fold(name), book.secret)
        return nobody if verifier is None else verifier

    def check(self, name: str, password: str) -> Principal | None:
        """Who gave this password; None if it is wrong. A name without an account takes as long."""
        accepted = self.scram(name).accepts(password)
        account = self._book().find(name)
        return _principal(account) if accepted and account is not None else None

    def by_token(self, token: str) -> Principal | None:
        """Whose token this is; None if it is nobody's."""
        if len(token) > _LONGEST_TOKEN:
            return None
        account = self._book().owner(_hash(token))
        return None if account is None else _principal(account)

    def find(self, name: str) -> Principal | None:
        """Whose name this is. For those who have proved it in another way, such as a SCRAM exchange."""
        account = self._book().find(name)
        return None if account is None else _principal(account)

    def all(self) -> tuple[Credentials, ...]:
        """Every account, by name."""
        return self._book().accounts

    def add(self, name: str, password: str | None, *, policy: Policy, role: Role = "analyst") -> Principal:
        """A new account; an analyst's goes by the name that the policy has. Without a password tokens alone let in."""
        own_name = policy.analyst(name).name if role == "analyst" else name
        credentials = Credentials(own_name, role, _verifier_of(password) if password is not None else None, ())

        def added(book: AccountBook) -> AccountBook:
            if book.find(own_name) is not None:
                hint = f"tacit analyst password {own_name} changes its password"
                raise PolicyError(f"{own_name!r} has an account already", hint=hint)
            return book.with_account(credentials)

        self._change(added)
        return _principal(credentials)

    def remove(self, name: str) -> None:
        """Take an account away, with all its tokens."""
        self._change(lambda book: book.without(_known(book, name).name))

    def set_password(self, name: str, password: str) -> None:
        """Another password; the old one is no longer good."""
        verifier = _verifier_of(password)
        self._change(lambda book: book.with_account(replace(_known(book, name), verifier=verifier)))

    def new_token(self, name: str, *, note: str = "") -> str:
        """A token that lets in as `name`. It is shown this once: the file keeps its hash."""
        token = TOKEN_MARK + base64.urlsafe_b64encode(SYSTEM.draw(_TOKEN_BYTES).tobytes()).decode().rstrip("=")
        kept = TokenHash(_hash(token), note[:200], int(time.time()))

        def added(book: AccountBook) -> AccountBook:
            known = _known(book, name)
            return book.with_account(replace(known, tokens=(*known.tokens, kept)))

        self._change(added)
        return token

    def revoke_token(self, name: str, mark: str) -> None:
        """Make a token worthless, named by the first letters of its hash."""

        def revoked(book: AccountBook) -> AccountBook:
            known = _known(book, name)
            left = tuple(token for token in known.tokens if not token.hash.startswith(mark))
            if len(known.tokens) - len(left) != 1 or not mark:
                raise PolicyError(f"{mark!r} is not one token of {known.name}", hint="tacit analyst list shows them")
            return book.with_account(replace(known, tokens=left))

        self._change(revoked)

    @staticmethod
    def _verifier(book: AccountBook, name: str) -> ScramVerifier | None:
        account = book.find(name)
        return None if account is None else account.verifier

    def _book(self) -> AccountBook:
        """What the file holds now; without a file, nobody has an account."""
        with self._lock:
            try:
                stamp = _stamp(self.path)
            except FileNotFoundError:
                self._seen = self._seen if self._seen and self._seen[0] == _NO_FILE else (_NO_FILE, _new_book())
                return self._seen[1]
            except OSError as error:
                raise PolicyError(f"{self.path.name} cannot be read: {error.strerror}") from None
            if self._seen is None or self._seen[0] != stamp:
                self._seen = stamp, _read(self.path)
            return self._seen[1]

    def _change(self, change: Callable[[AccountBook], AccountBook]) -> None:
        """Write the file anew, whole or not at all; nobody else changes it meanwhile."""
        with _turn(self.path):
            before = _read(self.path) if self.path.exists() else _new_book()
            _replace(self.path, change(before).to_bytes())
        with self._lock:
            self._seen = None


_NO_FILE: _Stamp = (0, 0, 0)


def _principal(credentials: Credentials) -> Principal:
    return Principal(credentials.name, "curator" if credentials.role == "curator" else "analyst")


def _known(book: AccountBook, name: str) -> Credentials:
    account = book.find(name)
    if account is None:
        raise PolicyError(f"{name!r} has no account", hint="tacit analyst list shows who has one")
    return account


def _verifier_of(password: str) -> ScramVerifier:
    if not SHORTEST <= len(password) <= LONGEST:
        raise PolicyError(f"the password must have from {SHORTEST} to {LONGEST:,} characters")
    if not password.isprintable():
        raise PolicyError("the password has characters that cannot be typed")
    return ScramVerifier.of(password, salt=SYSTEM.draw(SALT_BYTES).tobytes())


def _new_book() -> AccountBook:
    return AccountBook(SYSTEM.draw(32).tobytes(), ())


def _hash(token: str) -> str:
    """The hash of a token. It has 256 random bits: no salt and no slowness is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _read(path: Path) -> AccountBook:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read()
    except OSError as error:
        raise PolicyError(f"{path.name} cannot be read: {error.strerror}") from None
    if mode & 0o077:
        raise PolicyError(f"{path.name} can be read by others than its owner", hint=f"chmod 600 {path.name}")
    return book_of_bytes(content, name=path.name)


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """One writer at a time: the directory is locked, so that no other file is left behind."""
    try:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise PolicyError(f"{path.name} cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
        os.fsync(directory)
    finally:
        os.close(directory)


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.new")
    try:
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise PolicyError(f"{path.name} cannot be written: {error.strerror}") from None
