"""Every refusal of a policy file, with the line it names."""

import pickle

import pytest

from tacit.errors import PolicyError
from tacit.policy import parse_policy, read_policy

GOOD = """\
[dataset]
name = "clinic"
source = { visits = "visits.parquet", cities = "cities.csv" }
[budget]
epsilon = 10
delta = 1e-6
[groups.students]
epsilon = 2
[analysts.ana]
epsilon = 4
groups = ["students"]
[tables.visits]
unit = "patient_id"
max_groups = 10
max_rows = 20
[tables.visits.columns]
amount = { lower = 0, upper = 500, step = 0.01 }
age = { lower = 18, upper = 90, step = 1, domain = "range" }
dept = { domain = ["CS", "Econ", "Bio"] }
day = { type = "date" }
at = { type = "timestamp" }
sick = { type = "boolean" }
n = { type = "integer" }
city = {}
[tables.cities]
public = true
"""

_ONE = 'unit = "patient_id"'
_CAPS = f"{_ONE}\nmax_groups = 10\nmax_rows = 20\n"
_TWO = 'units = ["a", "b"]\nmax_rows = 2\nmax_partners = 3'
# what to replace, by what, the line named, what the message says, what the hint says
REFUSED = [
    # names of keys
    ("epsilon = 10", "epsilonn = 10", 5, "[budget] epsilonn: is not a key tacit knows", 'did you mean "epsilon"?'),
    ("unit =", "unitt =", 13, "[tables.visits] unitt: is not a key tacit knows", 'did you mean "unit"?'),
    ("lower = 0,", "min = 0,", 17, "[tables.visits.columns] amount: min is not a key", 'did you mean "lower"?'),
    ("city = {}", "city = { private = true }", 24, "city: private is not a key", 'did you mean "hidden"?'),
    ("city = {}", "city = { zzz = 1 }", 24, "city: zzz is not a key", "the keys here are type, lower"),
    ("[dataset]", "[datset]", 1, "datset: is not a key tacit knows", 'did you mean "dataset"?'),
    ("[groups.students]", "[view.v]\n[groups.students]", 7, "view: is not a key tacit knows", ""),
    ("public = true", "pubic = true", 26, "[tables.cities] pubic: is not", 'did you mean "public"?'),
    # what is missing
    ("epsilon = 10\n", "", 4, "[budget] epsilon: is missing", "add epsilon"),
    ("[budget]\nepsilon = 10\ndelta = 1e-6\n", "", None, "[budget]: is missing", ""),
    ('name = "clinic"\n', "", 1, "[dataset] name: is missing", ""),
    ('unit = "patient_id"\n', "", 12, "[tables.visits] unit: is missing: whose presence", 'unit = "row"'),
    ("lower = 0, ", "", 17, "amount: lower is missing: upper is there", "add lower"),
    ("upper = 500, ", "", 17, "amount: upper is missing: lower is there", "add upper"),
    (", step = 0.01", "", 17, "amount: step is missing: what are values rounded to", "step = 0.01 for cents"),
    ('epsilon = 4\ngroups = ["students"]', 'window = "1d"', 9, "[analysts.ana] epsilon: is missing", "groups"),
    # wrong types
    ("epsilon = 10", "epsilon = true", 5, "[budget] epsilon: must be a number: it is a truth value", ""),
    ("epsilon = 10", 'epsilon = "much"', 5, "[budget] epsilon: is not a number: 'much'", "a fraction such as 1/3"),
    ("epsilon = 10", "epsilon = [10]", 5, "[budget] epsilon: must be a number: it is a list", ""),
    ("max_groups = 10", "max_groups = 1.5", 14, "[tables.visits] max_groups: must be a whole number: it is 1.5", ""),
    ("max_groups = 10", "max_groups = true", 14, "max_groups: must be a whole number: it is a truth value", ""),
    ("public = true", 'public = "yes"', 26, "[tables.cities] public: must be true or false: it is text", ""),
    ('name = "clinic"', "name = 7", 2, "[dataset] name: must be a name", ""),
    ("city = {}", "city = 7", 24, "[tables.visits.columns] city: must be a table: it is a number", "write {}"),
    ("city = {}", 'city = { domain = "all" }', 24, "city: domain must be a list of values: it is 'all'", "domain = "),
    ("city = {}", "city = { hidden = 1 }", 24, "city: hidden must be true or false", ""),
    (
        "city = {}",
        "city = { domain = [[1]] }",
        24,
        "city: domain value 1 is not a value a column can hold: it is a",
        "",
    ),
    ("city = {}", 'city = { type = "txt" }', 24, "city: type must be one of", 'did you mean "text"?'),
    ('source = { visits = "visits.parquet", cities = "cities.csv" }', "source = 3", 3, "[dataset] source: must be", ""),
    ("[tables.cities]\npublic = true", "[[tables.cities]]\npublic = true", 25, "[tables.cities]: must be a table", ""),
    ('groups = ["students"]', 'groups = "students"', 11, "[analysts.ana] groups: must be a list", ""),
    # numbers that are none, or not in range
    ("epsilon = 10", "epsilon = nan", 5, "[budget] epsilon: is not finite", ""),
    ("epsilon = 10", "epsilon = inf", 5, "[budget] epsilon: is not finite", ""),
    ("epsilon = 10", "epsilon = 0", 5, "[budget] epsilon: must be greater than zero: got 0", ""),
    ("epsilon = 10", "epsilon = -1", 5, "[budget] epsilon: must be greater than zero: got -1", ""),
    ("epsilon = 10", "epsilon = 1e999", 5, "[budget] epsilon: has too many digits", ""),
    ("epsilon = 10", "epsilon = 0x" + "f" * 9000, 5, "[budget] epsilon: has too many digits", ""),
    ("delta = 1e-6", "delta = 1", 6, "[budget] delta: must be at least 0 and below 1: got 1", ""),
    ("delta = 1e-6", "delta = -0.1", 6, "[budget] delta: must be at least 0", ""),
    ("epsilon = 4", "epsilon = 0", 10, "[analysts.ana] epsilon: must be greater than zero", ""),
    ("epsilon = 2", "epsilon = nan", 8, "[groups.students] epsilon: is not finite", ""),
    ("max_groups = 10", "max_groups = 0", 14, "max_groups: must be at least 1: got 0", ""),
    ("max_rows = 20", "max_rows = -3", 15, "max_rows: must be at least 1: got -3", ""),
    ("max_rows = 20", 'rules = "age > 1"', 15, "rules: must be a list of texts", 'write rules = ["age >= 18"]'),
    ("max_rows = 20", "rules = [1]", 15, "rules", "write it in quotes"),
    ("max_rows = 20", "max_distinct = 99999999999", 15, "max_distinct: must be at most", ""),
    ("step = 0.01", "step = 0", 17, "amount: step must be greater than zero: got 0", ""),
    ("step = 0.01", "step = -1", 17, "amount: step must be greater than zero: got -1", ""),
    ("lower = 0", "lower = nan", 17, "amount: lower is not finite", ""),
    ("upper = 500", "upper = inf", 17, "amount: upper is not finite", ""),
    # bounds
    ("lower = 0, upper = 500", "lower = 500, upper = 0", 17, "amount: lower 500 is not below upper 0", "lower < upper"),
    ("upper = 500", "upper = 0", 17, "amount: lower 0 is not below upper 0", ""),
    ("step = 0.01", "step = 0.03", 17, "amount: upper 500 is off the grid", "whole multiples"),
    ("upper = 500", "upper = 1e300", 17, "amount: upper has too many digits", ""),
    ("upper = 500", "upper = 1e40", 17, "is more than 2^62 steps from zero", "larger step"),
    ("city = {}", "city = { step = 1 }", 24, "city: step is there, yet lower and upper are not", ""),
    ("sick = { type =", "sick = { lower = 0, upper = 1, type =", 22, "sick: lower cannot be: a boolean column", ""),
    ("n = { type", "n = { lower = 0.5, upper = 1, type", 23, "n: lower must be a whole number", ""),
    ("n = { type", "n = { lower = 0, upper = 1, step = 0.5, type", 23, "n: step 0.5 is too fine", ""),
    ("day = { type", "day = { lower = 3, upper = 9, type", 20, "day: lower must be a date: it is a number", ""),
    ("day = { type", 'day = { lower = "yesterday", type', 20, "day: lower is not a date: 'yesterday'", "2026-01-31"),
    (
        "day = { type",
        "day = { lower = 2020-01-02, upper = 2020-01-01, type",
        20,
        "lower 2020-01-02 is not below upper 20",
        "",
    ),
    (
        "day = { type",
        "day = { lower = 2020-01-01T00:00:00, type",
        20,
        "day: lower must be a date: it is a timestamp",
        "",
    ),
    ("at = { type", "at = { lower = 2020-01-01T00:00:00.5, type", 21, "at: lower is finer than a second", ""),
    ("at = { type", 'at = { step = "1x", type', 21, "at: step is not a span of time: '1x'", ""),
    # domains, nulls, NaN
    ("dept = { domain = [", 'dept = { domain = ["CS", ', 19, "dept: domain value 2 repeats 'CS'", "once"),
    ('["CS", "Econ", "Bio"]', "[]", 19, "dept: domain is empty", "leave domain out"),
    ('["CS", "Econ", "Bio"]', '["CS", 1]', 19, "dept: domain value 2 is a number, the first is text", ""),
    ('["CS", "Econ", "Bio"]', "[1, nan]", 19, "dept: domain value 2 is not finite", ""),
    ('["CS", "Econ", "Bio"]', "[1, 1.0]", 19, "dept: domain value 2 repeats 1", ""),
    ('["CS", "Econ", "Bio"]', '"range"', 19, 'dept: domain is "range", yet there are no bounds', ""),
    ('"range"', "[18, 91]", 18, "age: domain value 2 91 is outside lower and upper", ""),
    ('"range"', "[18, 18.5]", 18, "age: domain value 2 18.5 is off the grid", ""),
    ("upper = 90, step = 1", "upper = 90000000, step = 1", 18, "age: domain has 89999983 values: at most 1000000", ""),
    ("n = { type", "n = { domain = [1.5], type", 23, "n: domain value 1 does not fit a column of type integer", ""),
    (
        "sick = { type",
        'sick = { domain = ["yes"], type',
        22,
        "sick: domain value 1 does not fit a column of type bo",
        "",
    ),
    ("city = {}", 'city = { domain = { table = "cities" } }', 24, "city: domain has no column", ""),
    ("city = {}", 'city = { domain = { table = "c", column = "n", x = 1 } }', 24, "city: domain x is not a key", ""),
    (
        "city = {}",
        'city = { domain = { table = "citis", column = "n" } }',
        24,
        "'citis', which is no table",
        '"cities"',
    ),
    ("city = {}", 'city = { domain = { table = "visits", column = "n" } }', 24, "'visits', which is not public", ""),
    ("step = 0.01", "step = 0.01, null = 501", 17, "amount: null 501 is outside lower and upper", ""),
    ("step = 0.01", 'step = 0.01, null = "none"', 17, "amount: null does not fit a column of type number", ""),
    ("dept = { ", 'dept = { null = "Law", ', 19, "dept: null is not in the domain", "skip"),
    ("step = 0.01", "step = 0.01, nan = -1", 17, "amount: nan -1 is outside lower and upper", ""),
    ("step = 0.01", "step = 0.01, nan = 0.001", 17, "amount: nan 0.001 is off the grid", ""),
    ("city = {}", "city = { nan = 1 }", 24, "city: nan needs bounds", ""),
    (
        "step = 0.01",
        "step = 0.01, unit_total = { lower = 9, upper = 1 }",
        17,
        "unit_total lower 9 is not below upper 1",
        "",
    ),
    ("step = 0.01", "step = 0.01, unit_total = { lower = 0, uper = 1 }", 17, "unit_total uper is not a key", '"upper"'),
    ("step = 0.01", "step = 0.01, unit_total = { upper = 1 }", 17, "unit_total lower is missing", ""),
    ("step = 0.01", "step = 0.01, unit_total = 5", 17, "unit_total must be a table: it is a number", ""),
    (
        "city = {}",
        "city = { unit_total = { lower = 0, upper = 1 } }",
        24,
        "city: unit_total needs the column's own",
        "",
    ),
    # two owners
    ("unit =", "units =", 13, "[tables.visits] units: must be a list of two columns: it is text", "two columns"),
    (_ONE, 'units = ["a"]', 13, "[tables.visits] units: must be two columns: there are 1", "two columns"),
    (_ONE, 'units = ["a", "b", "c"]', 13, "[tables.visits] units: must be two columns: there are 3", ""),
    (_ONE, 'units = ["a", "A"]', 13, "[tables.visits] units: must be two columns: it is one, twice", "one owner"),
    (_ONE, 'units = ["a", 3]', 13, "[tables.visits] units: ", ""),
    (_ONE, 'units = ["a -> t.b", "c"]', 13, "[tables.visits] units: cannot be links", ""),
    (_CAPS, 'units = ["a", "b"]\n', 12, "[tables.visits] max_rows: is missing: how many rows of two", "add max_rows"),
    (_CAPS, 'units = ["a", "b"]\nmax_rows = 2\n', 12, "[tables.visits] max_partners: is missing", "add max_partners"),
    (_ONE, f"{_ONE}\nmax_partners = 2", 14, "[tables.visits] max_partners: cannot be: only rows with two owners", ""),
    (_ONE, f"{_ONE}\nmax_hubs = 2", 14, "[tables.visits] max_hubs: cannot be: only rows with two owners", ""),
    *(
        (_CAPS, f"{_TWO}\n{key}\n", 16, f"[tables.visits] {key.split()[0]}: cannot be: each row has two owners", "")
        for key in (
            _ONE,
            'null_unit = "one"',
            "max_groups = 1",
            "max_distinct = 1",
            'bounding = "sample"',
            'public_totals = "*"',
        )
    ),
    ("public = true", 'public = true\nunits = ["a", "b"]', 27, "[tables.cities] units: cannot be: the table is", ""),
    # units and public tables
    ("public = true", 'public = true\nunit = "name"', 27, "[tables.cities] unit: cannot be: the table is public", ""),
    (
        "public = true",
        "public = true\nmax_rows = 3",
        27,
        "[tables.cities] max_rows: cannot be: the table is public",
        "",
    ),
    ('unit = "patient_id"', 'unit = "row"', 14, 'max_groups: 10 contradicts unit = "row"', ""),
    (
        'unit = "patient_id"\nmax_groups = 10\nmax_rows = 20',
        'unit = "row"\nunit_form = "trim"',
        14,
        "no identifier",
        "",
    ),
    ('unit = "patient_id"', 'unit = "patient_id"\nnull_unit = "each"', 14, 'must be one of "drop", "one"', ""),
    ('unit = "patient_id"', 'unit = "patient_id"\nunit_form = "upper"', 14, 'must be one of "exact", "trim"', ""),
    (
        'unit = "patient_id"',
        'unit = "patient_id"\nbounding = "none"',
        14,
        'must be one of "auto", "sample", "weigh"',
        "",
    ),
    ('unit = "patient_id"', 'unit = "dept"', 19, "dept: domain cannot be: the column is the unit", ""),
    # names
    ("city = {}", "city = {}\nCity = {}", 25, "City: differs from 'city' by case only", "keep one"),
    (
        "[analysts.ana]",
        "[analysts.ANA]\nepsilon = 1\n[analysts.ana]",
        11,
        "[analysts.ana]: differs from 'ANA' by case only",
        "",
    ),
    ("city = {}", '"" = {}', 24, "is empty: a name is needed", ""),
    ("city = {}", '"a\\u0000b" = {}', 24, "is not a name tacit accepts", "printable"),
    ("city = {}", "'a\"b' = {}", 24, "is not a name tacit accepts", "no double quote"),
    ("city = {}", '" city" = {}', 24, "is not a name tacit accepts", "no space"),
    ("[analysts.ana]", '[analysts."ana ñ"]', 9, "is not a name tacit accepts: 'ana ñ'", "ASCII"),
    ("[tables.cities]", '[tables."main.cities"]', 25, "has a dot", "without its schema"),
    ('name = "clinic"', 'name = "the clinic"', 2, "[dataset] name: is not a name tacit accepts", ""),
    # the dataset
    (
        'name = "clinic"',
        'name = "clinic"\nengine = "oracle"',
        3,
        "[dataset] engine: 'oracle' is not an engine tacit knows",
        "",
    ),
    ('name = "clinic"', 'name = "clinic"\nengine = "sqlite"', 4, "source: must be one SQLite database", ".sqlite"),
    ('name = "clinic"', 'name = "clinic"\nadjacency = "swap"', 3, 'must be one of "add/remove", "replace"', ""),
    ('name = "clinic"', 'name = "clinic"\ndata_version = 2', 3, "[dataset] data_version: must be text", "in quotes"),
    (', cities = "cities.csv"', "", 25, "[tables.cities]: has no file: source does not name it", "to source"),
    ("[tables.cities]\npublic = true", "", 3, "[dataset] source: cities is not declared", "add [tables.cities]"),
    ('"cities.csv"', '""', 3, "[dataset] source: cities is empty", ""),
    # budgets
    ("delta = 1e-6", 'delta = 1e-6\naccounting = "pure"', 7, '[budget] accounting: is "pure", which has no delta', ""),
    ("delta = 1e-6", 'accounting = "zcdp"', 6, '[budget] accounting: is "zcdp", which needs a delta', "add delta"),
    ("delta = 1e-6", 'accounting = "renyi"', 6, 'must be one of "pure", "approximate", "zcdp", "pld"', ""),
    ("delta = 1e-6", 'accounting = "pld"', 6, '[budget] accounting: is "pld", which needs a delta', "add delta"),
    ("delta = 1e-6", 'delta = 1e-6\naccounting = "pld"', 7, 'is "pld", which needs a grain', "add grain = 0.05"),
    ("delta = 1e-6", "delta = 1e-6\ngrain = 0.1", 7, '[budget] grain: is what "pld" counts in', 'accounting = "pld"'),
    ("delta = 1e-6", 'delta = 1e-6\naccounting = "pld"\ngrain = 11', 8, "[budget] grain: 11 is above epsilon", ""),
    ("delta = 1e-6", 'delta = 1e-6\naccounting = "pld"\ngrain = 1e-9', 8, "[budget] grain: is too fine", "everyday"),
    ("delta = 1e-6", "max_epsilon = 11", 6, "[budget] max_epsilon: 11 is above epsilon, 10", ""),
    ("delta = 1e-6", "max_epsilon = 1\ndefault_epsilon = 2", 7, "default_epsilon: 2 is above", ""),
    ("delta = 1e-6", "default_delta = 1e-9", 6, "default_delta: 1e-9 is above delta, 0", ""),
    ("delta = 1e-6", "reuse = 1", 6, "[budget] reuse: must be true or false", ""),
    ('["students"]', '["student"]', 11, "[analysts.ana] groups: value 1 'student' is no group here", '"students"'),
    ('["students"]', '["students", "Students"]', 11, "groups: Students differs from 'students' by case", ""),
    ('groups = ["students"]', 'window = "a month"', 11, "[analysts.ana] window: is not a span of time", "30d"),
    ('groups = ["students"]', 'window = "0d"', 11, "[analysts.ana] window: must be a whole number of seconds", ""),
    ("epsilon = 4\n", 'window = "1d"\n', 10, "[analysts.ana] window: has no budget to refresh", ""),
    # blanks of a draft
    ('"patient_id"', '"?"', 13, "[tables.visits] unit: is still blank", "fill it in: the column whose owner is hidden"),
    ("epsilon = 10", 'epsilon = "?"', 5, "[budget] epsilon: is still blank", "fill it in"),
    # no TOML
    ("delta = 1e-6", "delta =", 6, "not TOML: invalid value at column", ""),
    ("delta = 1e-6", "epsilon = 3", 6, "not TOML: cannot overwrite a value", ""),
    ("public = true", 'public = "tr', 26, "not TOML", ""),
    ("public = true", 'public = """tr', 27, "not TOML: unterminated string (at end of document)", ""),
]


@pytest.mark.parametrize(
    ("old", "new", "line", "message", "hint"), REFUSED, ids=[f"{i}-{r[3][:40]}" for i, r in enumerate(REFUSED)]
)
def test_a_faulty_policy_is_refused_with_its_line(old, new, line, message, hint):
    assert GOOD.count(old) >= 1
    with pytest.raises(PolicyError) as caught:
        parse_policy(GOOD.replace(old, new, 1))
    where = "tacit.toml: " if line is None else f"tacit.toml:{line}: "
    assert caught.value.message.startswith(where), caught.value.message
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert "\n" not in caught.value.message


def test_the_policy_they_are_made_from_is_sound():
    assert parse_policy(GOOD).dataset.name == "clinic"


def test_the_message_reads_as_documented():
    faulty = GOOD.replace("lower = 0, upper = 500, step = 0.01", "lower = 500, upper = 0, step = 0.01")
    with pytest.raises(PolicyError) as caught:
        parse_policy(faulty)
    assert caught.value.explain().split("\n") == [
        "error: tacit.toml:17: [tables.visits.columns] amount: lower 500 is not below upper 0",
        "hint: write lower < upper",
    ]


def test_all_faults_are_found_in_one_reading_in_the_order_of_lines():
    faulty = GOOD.replace("epsilon = 10", "epsilon = 0").replace("max_rows = 20", "max_rows = 0")
    faulty = faulty.replace("upper = 500", "upper = -1").replace("city = {}", "city = 3")
    policy, errors = read_policy(faulty)
    assert policy is None
    assert [error.message.split(":")[1] for error in errors] == ["5", "15", "17", "24"]


def test_a_fault_within_a_table_of_its_own_is_named_by_the_line_of_its_key():
    long_form = GOOD.replace("city = {}\n", "").replace(
        "[tables.cities]", '[tables.visits.columns.city]\ndomain = [\n  "a",  # one\n  "b",\n  "a",\n]\n[tables.cities]'
    )
    with pytest.raises(PolicyError, match=r"tacit.toml:28: \[tables.visits.columns\] city: domain value 3 repeats 'a'"):
        parse_policy(long_form)


def test_a_policy_error_survives_pickling():
    with pytest.raises(PolicyError) as caught:
        parse_policy(GOOD.replace("epsilon = 10", "epsilon = 0"))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.message, again.hint) == (PolicyError, caught.value.message, caught.value.hint)


@pytest.mark.parametrize(
    ("hostile", "says"),
    [
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("x = " + "{a=" * 100_000, "nested too deeply"),
        (".".join("a" * 100_000) + " = 1", "nested too deeply"),
        ("[" + ".".join("a" * 100_000) + "]", "nested too deeply"),
        ("# " + "x" * 1_000_001, "larger than a policy may be"),
        ("x = " + "1" * 10_000, "beyond all measure"),
        ("x = 1e" + "9" * 100, "beyond all measure"),
        ('"' + "k" * 500_000 + '" = 1', "is not a key tacit knows"),
    ],
    ids=["arrays", "inline tables", "dotted keys", "header", "size", "digits", "exponent", "long key"],
)
def test_a_hostile_file_is_refused_shortly(hostile, says):
    with pytest.raises(PolicyError) as caught:
        parse_policy(hostile)
    assert says in caught.value.message
    assert len(caught.value.message) + len(caught.value.hint) < 400
