"""Kept answers: which of them one analyst may use again."""

from __future__ import annotations

from tacit.errors import InvalidParameter
from tacit.ledger.entries import accounts
from tacit.ledger.entries.rows import Connection, Row
from tacit.ledger.values import Keep, KeptAnswer, KeptState, Shelf, dataset_key

# Of answers to one plan at one price the newest alone: they serve alike, and there may be a great many of them.
_ALIKE = "a.key, a.family, a.member, a.facts, c.epsilon, c.delta, c.rho, c.slack, c.plan_hash"
_SELECT = (
    "SELECT a.charge, a.member, a.key, a.family, a.data_version, a.audience, a.facts,"
    " c.analyst, c.epsilon, c.delta, c.rho, c.slack, c.plan_hash, s.hash, s.at,"
    f" ROW_NUMBER() OVER (PARTITION BY {_ALIKE} ORDER BY a.charge DESC) AS older"
    " FROM answer a JOIN entry c ON c.seq = a.charge JOIN entry s ON s.charge = a.charge"
    " WHERE a.dataset = ? AND a.data_version = ? AND c.policy_version = ?"
    " AND (a.audience IS NULL OR a.audience = ?) AND "
)


def find(connection: Connection, shelf: Shelf, *, key: str | None, family: str | None) -> tuple[KeptAnswer, ...]:
    """By key or by family, the largest epsilon first; of those that are alike but for their age, the newest."""
    if (key is None) == (family is None):
        raise InvalidParameter("look for a kept answer by its key or by its family: give one of the two")
    column = "a.family = ?" if key is None else "a.key = ?"
    scope = (shelf.dataset, shelf.data_version, shelf.policy_version, shelf.analyst, key or family)
    newest = f"SELECT * FROM ({_SELECT}{column}) AS found WHERE older = 1"
    answers = [_kept(row) for row in connection.execute(newest, scope)]
    return tuple(sorted(answers, key=lambda kept: (kept.loss.epsilon, kept.seq), reverse=True))


_STATES = (
    "SELECT a.data_version, COUNT(*) AS kept, MAX(s.at) AS newest FROM answer a JOIN entry s ON s.charge = a.charge"
    " WHERE a.dataset = ? AND a.data_version IS NOT NULL GROUP BY a.data_version"
)


def states(connection: Connection, dataset: str) -> tuple[KeptState, ...]:
    """The states of the data that answers are kept of, the newest first."""
    rows = connection.execute(_STATES, (dataset_key(dataset),))
    listed = [KeptState(row["data_version"], row["kept"], row["newest"] / 1000) for row in rows]
    return tuple(sorted(listed, key=lambda state: state.newest, reverse=True))


def _kept(row: Row) -> KeptAnswer:
    return KeptAnswer(
        seq=row["charge"],
        member=row["member"],
        hash=row["hash"],
        at=row["at"] / 1000,
        analyst=row["analyst"],
        loss=accounts.price(row)[0],
        plan_hash=row["plan_hash"],
        keep=Keep(
            key=row["key"],
            family=row["family"],
            data_version=row["data_version"],
            audience=row["audience"],
            facts=row["facts"],
        ),
    )
