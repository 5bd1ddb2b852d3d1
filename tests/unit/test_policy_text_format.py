"""The format of files of text, as a policy states it."""

from __future__ import annotations

import pytest

from tacit.errors import PolicyError
from tacit.policy import TablePolicy, TextFormat, parse_policy, policy_text

TEXT = """\
[dataset]
name = "d"
source = { t = "t.csv" }
[budget]
epsilon = 1
[tables.t]
unit = "row"
format = FORMAT
"""


def declared(form: str) -> TextFormat | None:
    return parse_policy(TEXT.replace("FORMAT", form)).table("t").format


def test_a_format_is_read_and_written_back():
    form = '{ delimiter = ";", decimal = ",", date = "%d/%m/%Y", newlines = true }'
    policy = parse_policy(TEXT.replace("FORMAT", form))
    assert policy.table("t").format == TextFormat(delimiter=";", decimal=",", date="%d/%m/%Y", newlines=True)
    again = parse_policy(policy_text(policy))
    assert again == policy
    assert again.version == policy.version


def test_a_format_is_a_part_of_what_is_promised():
    plain = parse_policy(TEXT.replace("format = FORMAT\n", ""))
    assert parse_policy(TEXT.replace("FORMAT", '{ delimiter = ";" }')).version != plain.version
    assert declared("{}") == TextFormat()


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ('";"', "must be a table"),
        ('{ delimeter = ";" }', 'did you mean "delimiter"'),
        ('{ delimiter = ";;" }', "must be one character"),
        ('{ delimiter = "a" }', "cannot be 'a'"),
        ('{ delimiter = "\\n" }', "cannot be"),
        ('{ delimiter = "|", quote = "|" }', "is the delimiter too"),
        ('{ encoding = "utf-7" }', "must be one of utf-8"),
        ('{ decimal = ";" }', 'must be "." or ","'),
        ('{ date = "%d/%m" }', "must have the year once"),
        ('{ date = "%d/%m/%Y %H" }', "has %H, which is not understood"),
        ('{ date = "%Y-%m-%d%" }', "which is not understood"),
        ('{ timestamp = "%d/%m/%Y/%y" }', "must have the year once"),
        ("{ newlines = 1 }", "must be true or false"),
    ],
)
def test_a_format_that_means_nothing_is_refused_with_its_line(form, words):
    with pytest.raises(PolicyError, match=r"tacit\.toml:8") as caught:
        declared(form)
    assert words in caught.value.explain()


def test_only_text_has_a_format():
    with pytest.raises(PolicyError, match="only CSV and JSON have one"):
        parse_policy(TEXT.replace("t.csv", "t.parquet").replace("FORMAT", '{ delimiter = ";" }'))
    assert TablePolicy("t", "row", format={"quote": ""}).format == TextFormat(quote="")
