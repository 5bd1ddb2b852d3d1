"""Identifiers replaced by a keyed hash."""

from __future__ import annotations

import hmac

import numpy as np

from tacit.engines.columns import quoted
from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM
from tacit.release.anonymise.reading.source import SOURCE, TableSource, ask

KEY_BYTES = 32
LEAST_BYTES = 16
SHOWN = 32  # hexadecimal digits: 128 bits


def pseudonyms(source: TableSource, column: str, *, key: bytes | None, table: str) -> None:
    """Make `table`, of each value v of a column its pseudonym h: HMAC-SHA-256 under `key`, or a key nobody keeps.

    It hides the value from whoever lacks the key, since without it no list of candidates can be tried. It does not
    hide that two rows are the same person's, nor from those who hold the key, nor anything else in the row.
    """
    secret = SYSTEM.draw(KEY_BYTES).tobytes() if key is None else key
    if len(secret) < LEAST_BYTES:
        raise InvalidParameter(
            f"the key of the pseudonyms is too short: it has {len(secret)} bytes, and needs {LEAST_BYTES}",
            hint="leave it out, and a random one is used and forgotten",
        )
    rows = ask(source.connection, f"SELECT DISTINCT {quoted(column)}::VARCHAR FROM {SOURCE}")
    texts = [value for (value,) in rows if value is not None]
    hashes = [hmac.new(secret, f"{column}\0{text}".encode(), "sha256").hexdigest()[:SHOWN] for text in texts]
    source.connection.register("incoming", {"t": np.array(texts, dtype=object), "h": np.array(hashes, dtype=object)})
    ask(
        source.connection,
        f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT v, h FROM"
        f" (SELECT DISTINCT {quoted(column)} AS v FROM {SOURCE}) d LEFT JOIN incoming ON d.v::VARCHAR = incoming.t",
    )
    source.connection.unregister("incoming")
