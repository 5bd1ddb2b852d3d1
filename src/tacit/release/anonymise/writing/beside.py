"""What is published beside the cells, as it is: whom it singles out, and which quasi-identifiers it tells anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.engines.columns import quoted
from tacit.release.anonymise.reading.preparing import KEYED, Prepared, hidden
from tacit.release.anonymise.reading.source import SOURCE, ask
from tacit.release.anonymise.values.tuples import SecretSpread

TELLING = 0.9  # of the rows: a column from which on it is said to tell another
_BESIDE = "beside"


@dataclass(frozen=True, slots=True)
class Telling:
    """A column that is published as it is, and a quasi-identifier that its value tells, however coarse the cell is."""

    column: str
    quasi_identifier: str
    share: float  # of the rows whose value of the column others have, too: those whose quasi-identifier it fixes


def beside(prepared: Prepared, kept: Sequence[str], secrets: Sequence[str]) -> SecretSpread:
    """How the combinations of these columns are spread over the tuples: what somebody may know beside the cells."""
    if not kept and len(secrets) == 1:
        return next(spread for spread in prepared.tuples.sensitive if spread.name == secrets[0])
    number_of = {name: number for number, name in enumerate(prepared.request.roles.sensitive)}
    columns = [f"k.{quoted(name)}" for name in kept] + [f"k.{quoted(hidden(number_of[name]))}" for name in secrets]
    listed = ", ".join(columns)
    rows = prepared.source.connection.execute(
        f"SELECT o, dense_rank() OVER (ORDER BY {', '.join(f'c{at}' for at in range(len(columns)))}) - 1 AS v, n FROM"
        f" (SELECT k.{prepared.by} AS o, count(*) AS n,"
        f" {', '.join(f'{name} AS c{at}' for at, name in enumerate(columns))}"
        f" FROM {KEYED} k GROUP BY k.{prepared.by}, {listed})"
    ).fetchnumpy()
    key, value, count = (np.asarray(rows[name], dtype=np.int64) for name in ("o", "v", "n"))
    owner = np.searchsorted(prepared.key, key)
    values = int(value.max()) + 1 if value.size else 1
    return SecretSpread.of(_BESIDE, values, owner=owner, value=value, count=count, tuples=prepared.tuples.size.size)


def telling(prepared: Prepared, coarse: Sequence[str]) -> tuple[Telling, ...]:
    """Which published columns tell which of these quasi-identifiers, all of whose cells are not the values themselves.

    Counted over values that several rows have: of a value that stands alone everything is told, and that is said
    elsewhere. A quasi-identifier that most rows share is told by nothing.
    """
    roles = prepared.request.roles
    names = [name for name, column in zip(roles.quasi_identifiers, prepared.columns, strict=True) if name in coarse]
    varied = [name for name in names if _commonest(prepared, name) < TELLING]
    telling_pairs = []
    for column in (*roles.keep, *roles.sensitive) if varied else ():
        fixed = ", ".join(
            f"sum(n) FILTER (known{at} = 0 OR (known{at} = n AND low{at} = high{at})) AS told{at}"
            for at in range(len(varied))
        )
        groups = ", ".join(
            f"count({quoted(name)}) AS known{at}, min({quoted(name)}) AS low{at}, max({quoted(name)}) AS high{at}"
            for at, name in enumerate(varied)
        )
        grouped = f"SELECT count(*) AS n, {groups} FROM {SOURCE} GROUP BY {quoted(column)} HAVING count(*) > 1"
        (row,) = ask(prepared.source.connection, f"SELECT sum(n), {fixed} FROM ({grouped})")
        total, *told = (float(str(number or 0)) for number in row)
        shares = ((name, one / total) for name, one in zip(varied, told, strict=True) if total)
        telling_pairs += [Telling(column, name, share) for name, share in shares if share >= TELLING]
    return tuple(telling_pairs)


def _commonest(prepared: Prepared, name: str) -> float:
    index = prepared.request.roles.quasi_identifiers.index(name)
    heights = np.bincount(prepared.tuples.codes[index], weights=prepared.tuples.size)
    return float(heights.max() / max(heights.sum(), 1))
