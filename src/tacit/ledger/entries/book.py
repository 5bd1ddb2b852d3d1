"""The entries: written one after another, each sealed with the one before."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.core import NOTHING
from tacit.errors import LedgerError, RequestConflict
from tacit.ledger.amounts import Spent, from_text
from tacit.ledger.entries import accounts
from tacit.ledger.entries.chain import SEALED, Field, digest, digest_of_several, seal
from tacit.ledger.entries.links import ADVICE, Head, checked, head
from tacit.ledger.entries.rows import Connection, Row
from tacit.ledger.entries.totals import Totals
from tacit.ledger.values import Act, Answer, BudgetLimits, Charge, Entry, Inquiry, Keep, Replay, Reservation

_INSERT = f"INSERT INTO entry ({', '.join(SEALED)}, hash) VALUES ({', '.join('?' * (len(SEALED) + 1))})"

_ANSWER = ("charge", "member", "dataset", "key", "family", "data_version", "audience", "facts", "body")
_KEEP = f"INSERT INTO answer ({', '.join(_ANSWER)}) VALUES ({', '.join('?' * len(_ANSWER))})"


def append(
    connection: Connection, act: Act, *, now: int, last: Head | None = None, state: str | None = None, **fields: Field
) -> Head:
    """Seal one more entry onto the chain, with what every account then stands at: as before unless `state` says.

    Its time is never before its predecessor's, whatever the clock says.
    """
    last = last or head(connection)
    at, state = max(now, last.at), state or last.state
    if not state:
        raise LedgerError("the ledger was written by an older version of tacit", hint="open it again")
    entry: dict[str, Field] = dict.fromkeys(SEALED)
    entry |= {"seq": last.seq + 1, "at": at, "act": act, "state": state, "prev": last.hash} | fields
    sealed = seal(entry)
    connection.execute(_INSERT, (*(entry[name] for name in SEALED), sealed))
    return Head(last.seq + 1, sealed, at, state)


def reserve(
    connection: Connection, charge: Charge, *, caps: BudgetLimits, now: int, totals: Totals
) -> Reservation | Replay:
    """Check every cap, then record the charge: nothing is written before everything is checked."""
    if charge.request_id is not None and (earlier := _replay(connection, charge)) is not None:
        return earlier
    view = accounts.View.of(connection, totals, now=now)
    after = accounts.after(view, charge, caps=caps)
    risen = totals.after(after.changes, after.spent)
    accounts.store(connection, after.changes)
    epsilon, delta, rho, slack = accounts.to_columns(Spent().plus(charge.loss, charge.zcdp))
    entry = append(
        connection,
        "charge",
        now=view.at,
        last=view.head,
        state=risen.state,
        dataset=charge.dataset,
        analyst=charge.analyst,
        groups=json.dumps(charge.groups),
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        slack=slack,
        plan_hash=charge.plan_hash,
        policy_version=charge.policy_version,
        request_id=charge.request_id,
        kind=charge.kind,
        note=charge.note,
        asked=None if charge.asked is None else charge.asked.to_text(),
    )
    totals.move(view.head, entry, risen=risen)
    return Reservation(entry.seq, entry.hash, charge, after.balance)


def begin(connection: Connection, *, now: int) -> Head:
    """The first entry. It holds a name that no other ledger has, and so has its hash."""
    from tacit.noise import SYSTEM  # late: who only looks at a ledger needs no random bits

    return append(connection, "open", now=now, note=f"ledger {SYSTEM.draw(16).tobytes().hex()}")


def first(connection: Connection) -> str:
    """The hash of the first entry, by which a ledger is known."""
    row = connection.execute("SELECT * FROM entry WHERE seq = 0").fetchone()
    if row is None:
        raise LedgerError("the ledger cannot be trusted: its first entry is missing", hint=ADVICE)
    return str(checked(row)["hash"])


def settle(
    connection: Connection, reservation: Reservation, *, answers: Sequence[Answer], now: int, totals: Totals
) -> str:
    """Record the answers, and the keys under which each may be used again."""
    _still_open(connection, reservation)
    if not answers:
        raise LedgerError("a charge is settled with an answer, or it failed")
    seq, dataset, digests = reservation.seq, reservation.charge.dataset, []
    for member, answer in enumerate(answers):
        keys = _keys(answer.keep)
        digests.append(digest((seq, dataset, *keys), answer.body))
        connection.execute(_KEEP, (seq, member, dataset, *keys, answer.body))
    sealed = digest_of_several(digests)
    return _conclude(connection, "settle", reservation=reservation, now=now, sealed=sealed, totals=totals)


def fail(connection: Connection, reservation: Reservation, *, now: int, totals: Totals) -> str:
    """Record that no answer came. No account is touched: what was charged stays charged."""
    _still_open(connection, reservation)
    return _conclude(connection, "fail", reservation=reservation, now=now, sealed=None, totals=totals)


@dataclass(frozen=True, slots=True)
class Stored:
    """Answers, and the entries that charged and settled them, all of them checked against each other."""

    bodies: tuple[bytes, ...]
    charged: Mapping[str, Any]
    settled: Mapping[str, Any]


def stored_answers(connection: Connection, charge: int) -> Stored | None:
    """The answers that a charge was settled with, checked against the log; None where there are none."""
    rows = list(connection.execute("SELECT * FROM answer WHERE charge = ? ORDER BY member", (charge,)))
    settled = connection.execute("SELECT * FROM entry WHERE charge = ? AND act = 'settle'", (charge,)).fetchone()
    charged = connection.execute("SELECT * FROM entry WHERE seq = ? AND act = 'charge'", (charge,)).fetchone()
    if not rows or settled is None or charged is None:
        return None
    stored = Stored(tuple(row["body"] for row in rows), checked(charged), checked(settled))
    if answers_digest(rows) != stored.settled["digest"]:
        raise LedgerError("a kept answer cannot be trusted: it was changed", hint=ADVICE)
    return stored


def answers_digest(rows: Sequence[Row]) -> str:
    """What the settling entry of these rows, all that one charge has, must say; nothing where their numbers do not fit.

    In the first format a charge had one answer, without a number.
    """
    named = set(rows[0].keys())
    numbers = [row["member"] for row in rows] if "member" in named else [0]
    if numbers != list(range(len(rows))):
        return ""
    names = ("charge", "dataset", "key", "family", "data_version", "audience", "facts")
    return digest_of_several([digest([row[name] for name in names], row["body"]) for row in rows])


def newest(connection: Connection, *, limit: int, dataset: str | None, analyst: str | None) -> tuple[Entry, ...]:
    """The log, newest first, each charge with how it ended."""
    rows = connection.execute(
        "SELECT e.*, o.act AS outcome FROM entry e LEFT JOIN entry o ON o.charge = e.seq"
        " WHERE (CAST(? AS TEXT) IS NULL OR e.dataset = ?) AND (CAST(? AS TEXT) IS NULL OR e.analyst = ?)"
        " ORDER BY e.seq DESC LIMIT ?",
        (dataset, dataset, analyst, analyst, limit),
    )
    return tuple(_entry(row) for row in rows)


def _entry(row: Row) -> Entry:
    fields = {name: row[name] for name in SEALED if name != "prev"}
    for name in ("epsilon", "delta", "rho", "slack"):
        fields[name] = None if row[name] is None else from_text(row[name])
    fields["at"] = row["at"] / 1000
    fields["groups"] = tuple(json.loads(row["groups"] or "[]"))
    fields["asked"] = None if row["asked"] is None else Inquiry.from_text(row["asked"])
    return Entry(**fields, hash=row["hash"], outcome=row["outcome"])


def _replay(connection: Connection, charge: Charge) -> Replay | None:
    earlier = connection.execute(
        "SELECT * FROM entry WHERE dataset = ? AND analyst = ? AND request_id = ?",
        (charge.dataset, charge.analyst, charge.request_id),
    ).fetchone()
    if earlier is None:
        return None
    row = checked(earlier)
    if (row["plan_hash"], accounts.price(row)[0]) != (charge.plan_hash, charge.loss):
        free = row["plan_hash"] == charge.plan_hash and accounts.price(row)[0] == NOTHING
        what = "an answer that is no longer kept" if free else "another question"
        raise RequestConflict(
            f"the request id {charge.request_id!r} stands for {what}",
            hint="give each question an id of its own",
        )
    stored = stored_answers(connection, row["seq"])
    if stored is None:
        # Running elsewhere, failed, or lost in a crash: it may have been seen, so it may not be drawn again.
        raise RequestConflict(
            f"the request id {charge.request_id!r} was charged and has no answer",
            hint="wait for it, or ask under a new id: that is a new charge",
        )
    return Replay(row["seq"], stored.settled["hash"], charge, stored.bodies)


def _still_open(connection: Connection, reservation: Reservation) -> None:
    row = connection.execute(
        "SELECT e.hash, o.act AS outcome FROM entry e LEFT JOIN entry o ON o.charge = e.seq"
        " WHERE e.seq = ? AND e.act = 'charge'",
        (reservation.seq,),
    ).fetchone()
    if row is None or row["hash"] != reservation.hash:
        raise LedgerError("the reservation is not in this ledger")
    if row["outcome"] is not None:
        raise LedgerError("the reservation is already concluded: one charge pays for one answer")


def _conclude(
    connection: Connection, act: Act, *, reservation: Reservation, now: int, sealed: str | None, totals: Totals
) -> str:
    charge, last = reservation.charge, head(connection)
    entry = append(
        connection,
        act,
        now=now,
        last=last,
        dataset=charge.dataset,
        analyst=charge.analyst,
        charge=reservation.seq,
        digest=sealed,
    )
    totals.move(last, entry)
    return entry.hash


def _keys(keep: Keep | None) -> tuple[str | None, ...]:
    if keep is None:
        return (None,) * 5
    return keep.key, keep.family, keep.data_version, keep.audience, keep.facts
