"""The scanner that finds the line of every key."""

import pytest

from tacit.policy.reading.lines import Origin, key_lines

TEXT = '''\
# a comment with [brackets] and = signs
title = "x = 1"

[a]
plain = 1 # = [ {
"quoted.key" = 2
'literal key' = """
[not.a.header]
not_a_key = 1
""\\"""""
b.c.d = 4
inline = { x = 1, "y.z" = [1, 2], w = { v = "}" } }
many = [
  "one",   # ]
  "two",

  { in = 3 },
]
when = 1979-05-27 07:32:00
[ a . "b2" ]
e = \'\'\'
f = 3\'\'\'
[[list]]
n = 1
[[list]]
n = 2
[list.sub]
m = 3
[z.y.x]
[z]
last = 0xFF
'''

LINES = {
    ("title",): 2,
    ("a",): 4,
    ("a", "plain"): 5,
    ("a", "quoted.key"): 6,
    ("a", "literal key"): 7,
    ("a", "b"): 11,
    ("a", "b", "c"): 11,
    ("a", "b", "c", "d"): 11,
    ("a", "inline"): 12,
    ("a", "inline", "x"): 12,
    ("a", "inline", "y.z"): 12,
    ("a", "inline", "w"): 12,
    ("a", "inline", "w", "v"): 12,
    ("a", "many"): 13,
    ("a", "many", 0): 14,
    ("a", "many", 1): 15,
    ("a", "many", 2): 17,
    ("a", "many", 2, "in"): 17,
    ("a", "when"): 19,
    ("a", "b2"): 20,
    ("a", "b2", "e"): 21,
    ("list",): 23,
    ("list", 0): 23,
    ("list", 0, "n"): 24,
    ("list", 1): 25,
    ("list", 1, "n"): 26,
    ("list", 1, "sub"): 27,
    ("list", 1, "sub", "m"): 28,
    ("z",): 30,
    ("z", "y"): 29,
    ("z", "y", "x"): 29,
    ("z", "last"): 31,
}


def test_every_key_has_its_line():
    assert key_lines(TEXT) == LINES


def test_windows_line_ends_count_once():
    assert key_lines(TEXT.replace("\n", "\r\n")) == LINES


@pytest.mark.parametrize("cut", range(0, len(TEXT), 7))
def test_a_broken_text_is_scanned_up_to_where_it_breaks(cut):
    lines = key_lines(TEXT[:cut] + "\n= = [ nonsense")
    whole = TEXT[:cut].rsplit("\n", 1)[0].count("\n")  # lines that are surely untouched
    assert all(lines[path] == line for path, line in LINES.items() if line <= whole and line < 7)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "#", "a", "a =", "[", "[[", "[a", "a = [", "a = {", 'a = "', '"\\q" = 1', "a = '''"]
)
def test_what_is_no_toml_raises_nothing(text):
    key_lines(text)


def test_a_key_that_is_not_there_is_placed_where_it_would_be():
    origin = Origin("tacit.toml", key_lines(TEXT))
    assert origin.line(("a", "inline", "missing")) == 12
    assert origin.place(("a", "missing")) == "tacit.toml:4"
    assert origin.place(("nowhere",)) == "tacit.toml"
