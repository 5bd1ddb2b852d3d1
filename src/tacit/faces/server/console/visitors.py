"""Who is signed in: sessions that live on the server, named by a random cookie, ended by a change of the account."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from tacit.faces.server.accounts import Accounts, Principal, Role
from tacit.noise import SYSTEM

IDLE = 2 * 3600  # seconds without a request after which a session is over
LONGEST = 12 * 3600  # seconds after which it is over in any case
MOST = 10_000  # sessions that are remembered; the one used longest ago makes room
_BYTES = 32


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody with a session: who, as what, and the token that their forms carry."""

    name: str
    role: Role
    token: str = field(repr=False)

    @property
    def is_curator(self) -> bool:
        """Whether the pages of the curator are theirs."""
        return self.role == "curator"


@dataclass(slots=True)
class _Session:
    principal: Principal
    verifier: bytes  # of the password it was opened with: another password ends it
    began: float
    used: float


class Sessions:
    """The open sessions, by the hash of their cookie: who reads this memory cannot sign in with it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: OrderedDict[bytes, _Session] = OrderedDict()
        self._secret = SYSTEM.draw(_BYTES).tobytes()

    def begin(self, who: Principal, accounts: Accounts) -> str:
        """A new session's cookie."""
        cookie, now = random_text(), self._clock()
        self._open[_hash(cookie)] = _Session(who, accounts.scram(who.name).stored_key, now, now)
        while len(self._open) > MOST:
            self._open.popitem(last=False)
        return cookie

    def find(self, cookie: str, accounts: Accounts) -> Visitor | None:
        """Whose cookie it is; None if the session is over, or its account is not what it was."""
        key, now = _hash(cookie), self._clock()
        session = self._open.get(key)
        if session is None:
            return None
        late = now - session.used > IDLE or now - session.began > LONGEST
        changed = accounts.find(session.principal.name) != session.principal
        if late or changed or accounts.scram(session.principal.name).stored_key != session.verifier:
            del self._open[key]
            return None
        session.used = now
        self._open.move_to_end(key)
        return Visitor(session.principal.name, session.principal.role, self.token(cookie))

    def end(self, cookie: str) -> None:
        """Sign out."""
        self._open.pop(_hash(cookie), None)

    def token(self, cookie: str) -> str:
        """What a form must carry that is sent with this cookie: a page elsewhere cannot know it."""
        return hmac.digest(self._secret, cookie.encode("utf-8", "surrogatepass"), "sha256").hex()

    def accepts(self, cookie: str, token: str) -> bool:
        """Whether the form was made for this cookie."""
        given = token.encode("utf-8", "surrogatepass")
        return bool(cookie) and hmac.compare_digest(self.token(cookie).encode(), given)


def random_text() -> str:
    """So many random bits that nobody guesses them, as letters that may stand in a cookie or an address."""
    return base64.urlsafe_b64encode(SYSTEM.draw(_BYTES).tobytes()).decode().rstrip("=")


def _hash(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).digest()
