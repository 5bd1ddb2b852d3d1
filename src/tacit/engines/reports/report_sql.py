"""The SQL that adds up reports, in the words of each engine. A report that does not fit is counted, never an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacit.collect import Unary
from tacit.collect.messages import HEAD, head
from tacit.collect.surveys.questionnaire import Survey

PART = 1600  # sums in one row of a result: PostgreSQL has room for 1,664 columns


@dataclass(frozen=True, slots=True)
class Words:
    """How an engine says what it finds in the bytes of a report whose body has so many of them."""

    digits: str  # of the report, as hexadecimal digits in upper case
    cells: Callable[[int], dict[str, str]]  # what `bit` reads, made once for each report
    bit: Callable[[int, int], str]  # 1 or 0
    once: str = ""  # said of what many sums read


def _in_duckdb(bit: int, width: int) -> str:
    """DuckDB counts bytes from the left, and the bits in them from the highest down."""
    return f"get_bit(kept, {8 * (HEAD + bit // 8) + 7 - bit % 8})"


def _in_postgres(bit: int, width: int) -> str:
    """PostgreSQL counts bytes from the left, and the bits in them from the lowest up."""
    return f"get_bit(kept, {8 * (HEAD + bit // 8) + bit % 8})"


def _numbers(width: int) -> dict[str, str]:
    """Spark has bits of numbers only: the body in pieces of seven bytes, which are no negative number."""
    return {
        f"n{index}": f"CAST(conv(substring(digits, {2 * HEAD + 1 + 14 * index}, 14), 16, 10) AS BIGINT)"
        for index in range((width + 6) // 7)
    }


def _in_spark(bit: int, width: int) -> str:
    piece, byte = divmod(bit // 8, 7)
    after = min(7, width - 7 * piece) - 1 - byte  # bytes of the piece to the right of it
    return f"(shiftright(n{piece}, {8 * after + bit % 8}) & 1)"


WORDS = {
    "duckdb": Words("hex(report)", lambda _: {"kept": "CAST(report AS BIT)"}, _in_duckdb),
    "postgres": Words("upper(encode(report, 'hex'))", lambda _: {"kept": "report"}, _in_postgres, "MATERIALIZED "),
    "spark": Words("hex(report)", _numbers, _in_spark),
}


def grouped(survey: Survey, words: Words, *, table: str) -> str:
    """How often each report came, as hexadecimal digits; NULL for all that have another length or another head."""
    told = f"SELECT CASE WHEN {_fits(survey, words)} THEN {words.digits} END AS report FROM {table}"
    return f"SELECT report, CAST(COUNT(*) AS BIGINT) AS times FROM ({told}) AS told GROUP BY report"


def summed(survey: Survey, words: Words, *, table: str) -> str:
    """How many reports there are, how many of them fit, and of those the sum of every bit: one statement.

    Rows: (part, everything, counted, s0, s1, …), of which part p has the sums of the bits from p · PART on.
    """
    protocol: Unary = survey.protocol
    fits = f"{_fits(survey, words)}{_nothing_to_spare(protocol, words)}"
    checked = f"CASE WHEN {fits} THEN report END AS report, CASE WHEN {fits} THEN {words.digits} END AS digits"
    told = f"SELECT {checked} FROM {table}"  # and what is made of NULL is NULL
    cells = ", ".join(f"{sql} AS {name}" for name, sql in words.cells(protocol.width).items())
    width = min(PART, protocol.domain)
    parts = [
        f"SELECT CAST({part} AS BIGINT) AS part, COUNT(*) AS everything, COUNT(report) AS counted,\n  "
        + ",\n  ".join(f"{_sum(protocol, words, start + index)} AS s{index}" for index in range(width))
        + "\nFROM tidy"
        for part, start in enumerate(range(0, protocol.domain, width))
    ]
    tidy = f"WITH tidy AS {words.once}(SELECT report, {cells} FROM ({told}) AS told)\n"
    return tidy + "\nUNION ALL\n".join(parts)


def _sum(protocol: Unary, words: Words, bit: int) -> str:
    said = f"COALESCE(SUM({words.bit(bit, protocol.width)}), 0)" if bit < protocol.domain else "0"
    return f"CAST({said} AS BIGINT)"


def _fits(survey: Survey, words: Words) -> str:
    start, length = head(survey.protocol, survey.topic).hex().upper(), 2 * (HEAD + survey.protocol.width)
    return f"length({words.digits}) = {length} AND {words.digits} LIKE '{start}%'"


def _nothing_to_spare(protocol: Unary, words: Words) -> str:
    """The bits of the last byte that stand for no answer are 0."""
    used = protocol.domain - 8 * (protocol.width - 1)
    last = 2 * (HEAD + protocol.width)
    left, right = 1 << max(0, used - 4), 1 << min(4, used)  # so many values of either digit
    return "".join(
        f" AND substr({words.digits}, {index}, 1) IN ({', '.join(repr(f'{digit:X}') for digit in range(values))})"
        for index, values in ((last - 1, left), (last, right))
        if values < 16
    )
