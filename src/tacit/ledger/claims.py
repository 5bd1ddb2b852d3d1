"""Which ledger a source belongs to: a second one would be a second budget for the same people.

What is private in a source is claimed by the first ledger that is opened for it, table by table and file by file: by
its path, and by which file it is, so that a link or a file that was moved is no other source. Claims lie in a directory
of this host: `TACIT_REGISTRY`, else `tacit/sources` where the user's programs keep their state. A claim says which
ledger (by the hash of its first entry, and where it lies) holds the account, and under which name.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tacit.ledger.source_places import database_of, is_still, places_of
from tacit.ledger.values import dataset_key
from tacit.policy import Policy
from tacit.policy.sources.servers import is_server

VARIABLE = "TACIT_REGISTRY"
_SYSTEM = "/var/lib"  # never the folder one stands in: from another one nobody would find the claim
_log = logging.getLogger("tacit.ledger")


@dataclass(frozen=True, slots=True)
class Claim:
    """Who holds the account of a source."""

    source: str
    dataset: str
    ledger: str  # the hash of its first entry
    place: str
    file: str  # which file the source was, where it is one: another one of the same name is other data
    seen: str = ""  # what was found there, of a source that goes by its file

    def problem(self, other: Claim) -> str | None:
        """Why `other` may not have the source too; None if it is the same account, or if this claim has lapsed."""
        if not is_still(self.seen, other.seen):
            return None
        if self.dataset != other.dataset and self.ledger == other.ledger:
            return f"its account goes by the name {self.dataset!r}"
        if self.ledger == other.ledger:
            copied = _is_file(self.place) and not _same_file(self.place, other.place)
            return f"its ledger is {self.place}, of which this is a copy" if copied else None
        if _is_file(self.place) or is_server(self.place):
            if not is_server(self.place) and _same_file(self.place, other.place) and self.file != other.file:
                return None
            return f"its ledger is {self.place}, with its account {self.dataset!r}"
        return f"its ledger, {self.place}, is gone" if self.file == other.file else None


def registry() -> Path:
    """The directory where claims are kept. Who has no home has it where the system keeps state."""
    named = os.environ.get(VARIABLE)
    home = os.path.expanduser("~")
    state = os.environ.get("XDG_STATE_HOME") or (f"{home}/.local/state" if os.path.isabs(home) else _SYSTEM)
    return Path(named) if named else Path(state, "tacit", "sources")


def claims_of(policy: Policy, ledger: str) -> list[Claim]:
    """What a policy's ledger would claim: each place where people are, once."""
    dataset = policy.dataset
    location = str(dataset.ledger_place)
    location = location if is_server(location) else os.path.realpath(location)
    name = dataset_key(dataset.name)
    places = sorted(places_of(policy), key=lambda each: each.name)
    return [Claim(each.name, name, ledger, location, each.file, each.seen) for each in places]


def problems(policy: Policy, ledger: str) -> list[str]:
    """Why the policy's ledger (by its first hash; empty where there is none yet) is not the one of its source."""
    texts = []
    for claim in claims_of(policy, ledger):
        known = read(claim.source)
        if known is not None and (why := known.problem(claim)) is not None:
            texts.append(why)
    return list(dict.fromkeys(texts))


def holds(policy: Policy, ledger: str) -> bool:
    """Whether the ledger has claimed all of the source before."""
    known = [read(claim.source) for claim in claims_of(policy, ledger)]
    return all(claim is not None and claim.ledger == ledger for claim in known)


def write(policy: Policy, ledger: str) -> None:
    """Claim the source. What cannot be written down is told to the log: nobody is kept from asking by it."""
    try:
        directory = registry()
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        for claim in claims_of(policy, ledger):
            path = _path(claim.source)
            text = json.dumps(asdict(claim), sort_keys=True)
            if path.exists() and path.read_text(encoding="utf-8") == text:
                continue
            draft = path.with_name(f"{path.name}.{os.getpid()}")
            draft.write_text(text, encoding="utf-8")
            os.replace(draft, path)
    except OSError as error:
        _log.warning("a second ledger for the same source would not be noticed: %s", type(error).__name__)


def renew(policy: Policy, ledger: str) -> None:
    """Claim the source for a ledger that was made anew, if it was claimed for one in the same place."""
    known = [(claim, read(claim.source)) for claim in claims_of(policy, ledger)]
    if all(before is None or before.place == claim.place for claim, before in known):
        write(policy, ledger)


def neighbours(policy: Policy, ledger: str) -> dict[str, str]:
    """Other tables of the same database that another ledger has the account of, and where that lies.

    A view or a table that was renamed is another table: whether the same people are in it, only the owner knows.
    """
    database = database_of(policy)
    if database is None:
        return {}
    ours = {claim.source for claim in claims_of(policy, ledger)}
    claims = (_read(path) for path in sorted(registry().glob("*.json")))
    return {
        claim.source.removeprefix(database): claim.place
        for claim in claims
        if claim is not None and claim.source.startswith(database)
        and claim.source not in ours and claim.ledger != ledger
    }  # fmt: skip


def read(source: str) -> Claim | None:
    """Who holds a source, as far as this host knows."""
    claim = _read(_path(source))
    return claim if claim is not None and claim.source == source else None


def _read(path: Path) -> Claim | None:
    with suppress(OSError, ValueError, TypeError):
        claim = Claim(**json.loads(path.read_text(encoding="utf-8")))
        return claim if all(isinstance(value, str) for value in asdict(claim).values()) else None
    return None


def _path(source: str) -> Path:
    return registry() / f"{hashlib.sha256(source.encode()).hexdigest()}.json"


def _is_file(place: str) -> bool:
    return not is_server(place) and os.path.exists(place)


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return one == other
