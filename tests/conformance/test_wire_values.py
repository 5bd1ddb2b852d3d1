"""Values on the wire are written as PostgreSQL itself writes them, and read as it writes them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime, time
from fractions import Fraction
from typing import Any

import psycopg
import pytest

from support.postgres import server
from tacit.faces.server.wire.faults import WireFault
from tacit.faces.server.wire.values import oids
from tacit.faces.server.wire.values.codecs import encode
from tacit.faces.server.wire.values.parameters import decode

# a value of ours, and what PostgreSQL calls it
CASES: list[tuple[int, object, str]] = [
    *((oids.BOOL, value, f"{value}::bool") for value in (True, False)),
    *((oids.INT2, value, f"({value})::int2") for value in (0, -1, 32767, -32768)),
    *((oids.INT4, value, f"({value})::int4") for value in (0, -1, 2**31 - 1, -(2**31))),
    *((oids.INT8, value, f"('{value}')::int8") for value in (0, -1, 2**63 - 1, -(2**63))),
    *((oids.FLOAT8, value, f"('{value}')::float8") for value in (0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, -1.5e-7, 1e20)),
    *((oids.FLOAT8, value, f"('{value}')::float8") for value in (math.inf, -math.inf, math.nan, 123456789012345.6)),
    *((oids.FLOAT8, value, f"('{value}')::float8") for value in (1e15, 1e16, 1.7976931348623157e308, 2**53 + 0.0)),
    *((oids.NUMERIC, value, f"({value})::numeric") for value in (0, 1, -1, 10_000, 99_999_999, 10**40, -(10**37) - 1)),
    *((oids.NUMERIC, Fraction(text), f"({text})::numeric") for text in ("0.5", "-0.0001", "12345.6789", "1e-20")),
    *((oids.TEXT, value, f"$q${value}$q$::text") for value in ("", "a", "naïve ∑", "tab\there", "'\"\\", "<script>")),
    *(
        (oids.DATE, date.fromisoformat(value), f"'{value}'::date")
        for value in ("0001-01-01", "1970-01-01", "2000-01-01", "9999-12-31")
    ),
    *((oids.TIME, time.fromisoformat(value), f"'{value}'::time") for value in ("00:00:00", "23:59:59.999999")),
    *(
        (oids.TIMESTAMP, datetime.fromisoformat(value), f"'{value}'::timestamp")
        for value in ("0001-01-01T00:00:00", "1999-12-31T23:59:59", "2026-11-16T20:00:00.000001", "9999-12-31T00:00:00")
    ),
    (oids.UUID, "6ccd780c-baba-1026-9564-5b8c656024db", "'6ccd780c-baba-1026-9564-5b8c656024db'::uuid"),
    *((oids.TEXT_ARRAY, value, f"ARRAY{value}::text[]") for value in (["a", "b"], [])),
    (oids.TEXT_ARRAY, ['a"b', "c\\d", None], "ARRAY['a\"b', 'c\\d', NULL]"),
    (oids.JSONB, {"CS": 1, "Bio": 2.5}, """'{"CS": 1, "Bio": 2.5}'::jsonb"""),
]  # fmt: skip


@pytest.fixture(scope="module")
def postgres() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server().url(), autocommit=True) as connection:
        yield connection


def _theirs(postgres: psycopg.Connection[Any], expression: str, *, binary: bool) -> tuple[int, bytes | None]:
    result = postgres.pgconn.exec_params(f"SELECT {expression}".encode(), None, result_format=int(binary))
    assert result.ntuples == 1, result.error_message
    return result.ftype(0), result.get_value(0, 0)


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize(("oid", "value", "expression"), CASES)
def test_a_value_is_written_and_read_as_postgresql_does(
    postgres: psycopg.Connection[Any], oid: int, value: object, expression: str, *, binary: bool
) -> None:
    kind, theirs = _theirs(postgres, expression, binary=binary)
    assert kind == oid
    ours = encode(value, oid, binary=binary)
    if oid == oids.JSONB:  # an object's keys have no order
        assert sorted(ours or b"") == sorted(theirs or b"")
        return
    if oid == oids.TEXT_ARRAY and not binary:  # quotes are where they need not be, which PostgreSQL reads alike
        assert _theirs(postgres, f"$q${(ours or b'').decode()}$q$::text[]", binary=False)[1] == theirs
        return
    if oid == oids.FLOAT8 and not binary:  # 1e+20 and 1e+15 are the same number however many digits are written
        assert float(ours or b"") == float(theirs or b"") or math.isnan(float(ours or b""))
    else:
        assert ours == theirs
    read = decode(theirs, oid, binary=binary)
    if isinstance(value, (float, Fraction)):
        assert float(read) == float(value) or math.isnan(float(value))  # type: ignore[arg-type]  # numbers, then
    else:
        assert read == value or str(read) == str(value)  # an array is not read as text, and a uuid is one


@pytest.mark.parametrize(
    ("value", "oid"),
    [(2**63, oids.INT8), (1.5, oids.INT8), ("a", oids.FLOAT8), (1, oids.BOOL), ("x", oids.DATE), ("no", oids.UUID)],
)
def test_a_value_that_does_not_fit_its_type_is_an_error_and_not_another_value(value: object, oid: int) -> None:
    with pytest.raises(WireFault, match="does not fit"):
        encode(value, oid, binary=True)


@pytest.mark.parametrize(
    ("content", "oid", "binary"),
    [
        (b"\0", oids.INT4, True), (b"\0" * 9, oids.INT8, True), (b"abc", oids.INT4, False), (b"\xff", oids.TEXT, False),
        (b"perhaps", oids.BOOL, False), (b"31.12.2026", oids.DATE, False), (b"1e999999999", oids.NUMERIC, False),
        (b"\0\1\x7f\xff\0\0\0\0\0\1", oids.NUMERIC, True), (b"\0\1\0\0\0\0\0\0\x27\x10", oids.NUMERIC, True),
        (b"\x7f\xff\xff\xff", oids.DATE, True), (b"\x7f" + b"\xff" * 7, oids.TIMESTAMP, True), (b"1", 9999, True),
        (b"\0\0\0\2\0\0\0\0\0\0\0\x19", oids.TEXT_ARRAY, True),
        (b"\0\0\0\1\0\0\0\0\0\0\0\x19\x7f\xff\xff\xff\0\0\0\1", oids.TEXT_ARRAY, True),
    ],
)  # fmt: skip
def test_a_parameter_that_is_none_of_its_type_is_refused(content: bytes, oid: int, *, binary: bool) -> None:
    with pytest.raises(WireFault):
        decode(content, oid, binary=binary)


@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "x" * 100_000])
def test_odd_keys_are_written_so_that_the_message_stays_whole(text: str) -> None:
    written = encode(text, oids.TEXT, binary=False)
    assert written is not None
    assert b"\0" not in written
    written.decode()
