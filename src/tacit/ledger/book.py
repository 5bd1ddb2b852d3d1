"""The entries: written one after another, each sealed with the one before."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tacit.errors import LedgerError, QueryRefused
from tacit.ledger import accounts
from tacit.ledger.amounts import Spent, from_text
from tacit.ledger.chain import BEFORE_THE_FIRST, SEALED, Field, digest, seal
from tacit.ledger.rows import Connection, Row
from tacit.ledger.values import Act, Caps, Charge, Entry, Keep, Replay, Reservation

_INSERT = f"INSERT INTO entry ({', '.join(SEALED)}, hash) VALUES ({', '.join('?' * (len(SEALED) + 1))})"


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry."""

    seq: int
    hash: str
    at: int


def head(connection: Connection) -> Head:
    """Where the chain ends."""
    row = connection.execute("SELECT seq, hash, at FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
    return Head(-1, BEFORE_THE_FIRST, 0) if row is None else Head(row["seq"], row["hash"], row["at"])


def append(connection: Connection, act: Act, *, now: int, **fields: Field) -> Head:
    """Seal one more entry onto the chain. Its time is never before its predecessor's, whatever the clock says."""
    last = head(connection)
    at = max(now, last.at)
    entry: dict[str, Field] = dict.fromkeys(SEALED)
    entry |= {"seq": last.seq + 1, "at": at, "act": act, "prev": last.hash} | fields
    sealed = seal(entry)
    connection.execute(_INSERT, (*(entry[name] for name in SEALED), sealed))
    return Head(last.seq + 1, sealed, at)


def reserve(connection: Connection, charge: Charge, *, caps: Caps, now: int) -> Reservation | Replay:
    """Check every cap, then record the charge: nothing is written before everything is checked."""
    if charge.request_id is not None and (earlier := _replay(connection, charge)) is not None:
        return earlier
    at = max(now, head(connection).at)
    raises = accounts.after(connection, charge, caps=caps, at=at)
    accounts.store(connection, raises, at=at)
    epsilon, delta, rho, slack = accounts.to_columns(Spent().plus(charge.loss, charge.zcdp))
    made = append(
        connection,
        "charge",
        now=at,
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
    )
    return Reservation(made.seq, made.hash, charge)


def settle(connection: Connection, reservation: Reservation, *, answer: bytes, keep: Keep | None, now: int) -> str:
    """Record the answer, and the keys under which it may be used again."""
    _still_open(connection, reservation)
    dataset = reservation.charge.dataset
    keys = _keys(keep)
    sealed = digest((reservation.seq, dataset, *keys), answer)
    connection.execute("INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (reservation.seq, dataset, *keys, answer))
    return _conclude(connection, "settle", reservation=reservation, now=now, sealed=sealed)


def fail(connection: Connection, reservation: Reservation, *, now: int) -> str:
    """Record that no answer came. No account is touched: what was charged stays charged."""
    _still_open(connection, reservation)
    return _conclude(connection, "fail", reservation=reservation, now=now, sealed=None)


def stored_answer(connection: Connection, charge: int) -> tuple[bytes, str] | None:
    """The answer that a charge was settled with, checked against the log, and the hash of the settling entry."""
    row = connection.execute(
        "SELECT answer.*, entry.digest AS sealed, entry.hash FROM answer JOIN entry ON entry.charge = answer.charge"
        " WHERE answer.charge = ?",
        (charge,),
    ).fetchone()
    if row is None:
        return None
    if answer_digest(row) != row["sealed"]:
        raise LedgerError("a kept answer cannot be trusted: it was changed", hint="run `tacit ledger verify`")
    return row["body"], row["hash"]


def answer_digest(row: Row) -> str:
    """What the settling entry of this row must say."""
    names = ("charge", "dataset", "key", "family", "data_version", "audience", "facts")
    return digest([row[name] for name in names], row["body"])


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
    return Entry(**fields, hash=row["hash"], outcome=row["outcome"])


def _replay(connection: Connection, charge: Charge) -> Replay | None:
    row = connection.execute(
        "SELECT * FROM entry WHERE dataset = ? AND analyst = ? AND request_id = ?",
        (charge.dataset, charge.analyst, charge.request_id),
    ).fetchone()
    if row is None:
        return None
    if (row["plan_hash"], accounts.price(row)[0]) != (charge.plan_hash, charge.loss):
        raise QueryRefused(
            f"the request id {charge.request_id!r} stands for another question",
            hint="give each question an id of its own",
        )
    settled = stored_answer(connection, row["seq"])
    if settled is None:
        # Running elsewhere, failed, or lost in a crash: it may have been seen, so it may not be drawn again.
        raise QueryRefused(
            f"the request id {charge.request_id!r} was charged and has no answer",
            hint="wait for it, or ask under a new id: that is a new charge",
        )
    answer, sealed = settled
    return Replay(row["seq"], sealed, charge, answer)


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


def _conclude(connection: Connection, act: Act, *, reservation: Reservation, now: int, sealed: str | None) -> str:
    charge = reservation.charge
    return append(
        connection,
        act,
        now=now,
        dataset=charge.dataset,
        analyst=charge.analyst,
        charge=reservation.seq,
        digest=sealed,
    ).hash


def _keys(keep: Keep | None) -> tuple[str | None, ...]:
    if keep is None:
        return (None,) * 5
    return keep.key, keep.family, keep.data_version, keep.audience, keep.facts
