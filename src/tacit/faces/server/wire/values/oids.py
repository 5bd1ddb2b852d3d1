"""The types of PostgreSQL that answers and parameters have, by the numbers that its protocol calls them."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.curator.forms.shape import ColumnShape

BOOL, INT8, INT2, INT4, TEXT, OID = 16, 20, 21, 23, 25, 26
NAME, JSON, FLOAT4, FLOAT8, UNKNOWN = 19, 114, 700, 701, 705
BPCHAR, VARCHAR, DATE, TIME, TIMESTAMP, TIMESTAMPTZ = 1042, 1043, 1082, 1083, 1114, 1184
NUMERIC, UUID, JSONB = 1700, 2950, 3802
TEXT_ARRAY, VARCHAR_ARRAY, INT2_ARRAY, INT4_ARRAY, INT8_ARRAY = 1009, 1015, 1005, 1007, 1016
BOOL_ARRAY, NAME_ARRAY, BPCHAR_ARRAY, FLOAT4_ARRAY, FLOAT8_ARRAY, OID_ARRAY = 1000, 1003, 1014, 1021, 1022, 1028
TIMESTAMP_ARRAY, DATE_ARRAY, TIME_ARRAY, TIMESTAMPTZ_ARRAY, NUMERIC_ARRAY, UUID_ARRAY = (
    1115,
    1182,
    1183,
    1185,
    1231,
    2951,
)

SIZES = {BOOL: 1, INT8: 8, INT2: 2, INT4: 4, OID: 4, FLOAT4: 4, FLOAT8: 8, DATE: 4, TIME: 8, TIMESTAMP: 8, UUID: 16}
SIZES |= {TIMESTAMPTZ: 8, NAME: 64}
ELEMENTS = {TEXT_ARRAY: TEXT, VARCHAR_ARRAY: VARCHAR, INT2_ARRAY: INT2, INT4_ARRAY: INT4, INT8_ARRAY: INT8}
ELEMENTS |= {BOOL_ARRAY: BOOL, NAME_ARRAY: NAME, BPCHAR_ARRAY: BPCHAR, FLOAT4_ARRAY: FLOAT4, FLOAT8_ARRAY: FLOAT8}
ELEMENTS |= {OID_ARRAY: OID, TIMESTAMP_ARRAY: TIMESTAMP, DATE_ARRAY: DATE, TIME_ARRAY: TIME, UUID_ARRAY: UUID}
ELEMENTS |= {TIMESTAMPTZ_ARRAY: TIMESTAMPTZ, NUMERIC_ARRAY: NUMERIC}
ARRAYS = {element: array for array, element in ELEMENTS.items()}

OF_KIND = {
    "integer": INT8,
    "number": FLOAT8,
    "text": TEXT,
    "boolean": BOOL,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "list": TEXT_ARRAY,
    "map": JSONB,
}

_BY_NAME = {
    "bool": BOOL, "boolean": BOOL, "smallint": INT2, "int2": INT2, "int": INT4, "integer": INT4, "int4": INT4,
    "bigint": INT8, "int8": INT8, "real": FLOAT4, "float4": FLOAT4, "float": FLOAT8, "float8": FLOAT8,
    "numeric": NUMERIC, "decimal": NUMERIC, "text": TEXT, "varchar": VARCHAR, "char": BPCHAR, "bpchar": BPCHAR,
    "date": DATE, "timestamp": TIMESTAMP, "timestamptz": TIMESTAMPTZ, "uuid": UUID,
}  # fmt: skip


def oid_of_name(name: str) -> int | None:
    """The type behind a name, as casts spell it."""
    return _BY_NAME.get(name.lower())


@dataclass(frozen=True, slots=True)
class WireColumn:
    """A column of a result: its name and its type."""

    name: str
    oid: int


def oid_of(shape: ColumnShape) -> int:
    """The type of a column of an answer; a count whose noise may need more than 64 bits is numeric."""
    if shape.kind == "integer" and shape.wide:
        return NUMERIC
    return OF_KIND.get(shape.kind, TEXT)
