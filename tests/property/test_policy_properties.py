"""Any policy, in any layout: what it says is what is read, and every key is found on its line."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, settings
from hypothesis import strategies as st

from tacit.errors import PolicyError
from tacit.policy import (
    AnalystPolicy,
    BudgetPolicy,
    ColumnPolicy,
    Dataset,
    GroupPolicy,
    ListDomain,
    Policy,
    TableDomain,
    TablePolicy,
    fold,
    parse_policy,
    policy_text,
    read_policy,
)
from tacit.policy.amend import Change, amend_policy
from tacit.policy.reading.lines import key_lines
from tacit.policy.write import header, toml_key, toml_value

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

accounts = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,6}", fullmatch=True)
names = st.one_of(
    st.from_regex(r"[a-z_]{1,5}", fullmatch=True),
    st.sampled_from(
        ["description", "ledger", "columns", "tables", "row", "ü ber", "a=b", "#", "1", "it's", "[x]", "x.y"]
    ),
)
words = st.text(st.characters(codec="utf-8"), max_size=6)


def unique(strategy: st.SearchStrategy, key, *, most: int = 3) -> st.SearchStrategy:
    return st.lists(strategy, max_size=most, unique_by=lambda thing: fold(key(thing)))


@st.composite
def numeric_columns(draw) -> ColumnPolicy:
    step = draw(st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(1, 3), Fraction(5), Fraction(1, 10**9)]))
    low = draw(st.integers(-1000, 1000))
    width = draw(st.integers(1, 1000))
    grid = st.integers(low, low + width).map(lambda cell: cell * step)
    decimal = step != Fraction(1, 3)
    total = {"lower": low * step * 2, "upper": (low + width) * step * 2 + 5 * step}
    return ColumnPolicy(
        draw(names),
        lower=low * step,
        upper=(low + width) * step,
        step=step,
        nan=draw(st.none() | grid),
        null=draw(st.none() | grid) if decimal else None,
        domain=draw(st.sampled_from([None, "range"])),
        unit_total=draw(st.sampled_from([None, total if total["lower"] < total["upper"] else None])),
    )


@st.composite
def other_columns(draw) -> ColumnPolicy:
    name = draw(names)
    lists = st.one_of(
        st.lists(words, min_size=1, max_size=4, unique=True),
        st.lists(st.integers(-(10**20), 10**20), min_size=1, max_size=4, unique=True),
        st.lists(st.dates(), min_size=1, max_size=4, unique=True),
        st.just([False, True]),
    )
    shape = draw(st.sampled_from(["list", "list", "bare", "dates", "hidden", "described"]))
    if shape == "list":
        listed = draw(lists)
        null = draw(st.sampled_from([None, *listed]))
        return ColumnPolicy(name, domain=listed, null=None if null in {"skip", "?"} else null)
    if shape == "dates":
        first = draw(st.dates(max_value=date(2500, 1, 1)))
        return ColumnPolicy(name, type="date", lower=first, upper=first + timedelta(days=draw(st.integers(1, 9999))))
    if shape == "described":
        return ColumnPolicy(name, description=draw(words.map(lambda text: "x" + text.replace("\x00", ""))), type="text")
    return ColumnPolicy(name, hidden=shape == "hidden")


columns = st.one_of(numeric_columns(), other_columns())
caps = st.none() | st.integers(1, 100)


@st.composite
def tables(draw, name: str) -> TablePolicy:
    inside = draw(unique(columns, lambda column: column.name))
    if draw(st.booleans()):
        plain = [replace(column, unit_total=None) for column in inside]
        return TablePolicy(name, **draw(st.sampled_from([{"public": True}, {"unit": "row"}])), columns=plain)
    return TablePolicy(
        name,
        "the unit",
        columns=inside,
        null_unit=draw(st.sampled_from(["drop", "one"])),
        unit_form=draw(st.sampled_from(["exact", "trim", "lower", "trim-lower"])),
        max_groups=draw(caps),
        max_rows=draw(caps),
        max_distinct=draw(caps),
        bounding=draw(st.sampled_from(["auto", "sample", "weigh"])),
    )


@st.composite
def policies(draw) -> Policy:
    try:
        table_names = draw(st.lists(names.filter(lambda n: "." not in n), min_size=1, max_size=3, unique_by=fold))
        declared = [draw(tables(name)) for name in table_names]
        public = next((table.name for table in declared if table.public), None)
        if public is not None:
            extra = ColumnPolicy("linked", domain=TableDomain(public, "c"))
            declared = [replace(table, columns=(*table.columns, extra)) for table in declared]
        groups = [GroupPolicy(name, draw(st.integers(1, 9))) for name in draw(unique(accounts, str, most=2))]
        analysts = [
            AnalystPolicy(
                name, Fraction(draw(st.integers(1, 99)), 7), window=draw(st.sampled_from([None, "30d", "90s"]))
            )
            for name in draw(unique(accounts, str, most=2))
        ]
        if groups:
            analysts = [replace(analyst, groups=(groups[0].name,)) for analyst in analysts]
        source = draw(st.sampled_from(["x.duckdb", {name: f"{name}.csv" for name in table_names}]))
        delta = draw(st.sampled_from([0, 1e-6, "1/3"]))
        budget = BudgetPolicy(draw(st.sampled_from([1, 0.1, "1/3", 10**9])), delta, reuse=draw(st.booleans()))
        adjacency = draw(st.sampled_from(["add/remove", "replace"]))
        dataset = Dataset(draw(accounts), source, adjacency=adjacency)
        return Policy(dataset, budget, tables=declared, groups=groups, analysts=analysts)
    except PolicyError:
        assume(False)
        raise


class Layout:
    """Writes a plain policy in an arbitrary but valid layout, and remembers where it put each key."""

    def __init__(self, draw) -> None:
        self.draw = draw
        self.out: list[str] = []
        self.lines: dict[tuple[str | int, ...], int] = {}
        self.comments: list[str] = []

    def line(self, text: str) -> int:
        if self.draw(st.integers(0, 5)) == 0:
            self.out.append(self.draw(st.sampled_from(["", "   ", "# [x] = 1 '''", '\t# """'])))
        if self.draw(st.integers(0, 3)) == 0:
            self.comments.append(f'# remark {len(self.comments)} " [ = ')
            text += f"  {self.comments[-1]}"
        self.out.append(text)
        return len(self.out)

    def seen(self, path: tuple[str | int, ...], line: int) -> None:
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def inside(self, path: tuple[str | int, ...], value: object, line: int) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                self.seen((*path, key), line)
                self.inside((*path, key), inner, line)

    def pair(self, path: tuple[str, ...], keys: tuple[str, ...], value: object) -> None:
        dotted = self.draw(st.sampled_from([".", " . "])).join(self.key(key) for key in keys)
        if isinstance(value, list) and value and self.draw(st.booleans()):
            self.seen((*path, *keys), self.line(f"{dotted} = ["))
            for index, item in enumerate(value):
                self.lines[(*path, *keys, index)] = self.line(f"  {toml_value(item)},")
            self.line("]")
            return
        line = self.line(f"{dotted} = {toml_value(value)}")
        self.seen((*path, *keys), line)
        self.inside((*path, *keys), value, line)

    def key(self, name: str) -> str:
        quoted = "'" not in name and self.draw(st.integers(0, 3)) == 0
        return f"'{name}'" if quoted else toml_key(name)

    def table(self, path: tuple[str, ...], section: Mapping[str, object]) -> None:
        items = self.draw(st.permutations(list(section.items())))
        styles = {key: self.style(path, value) for key, value in items}
        if path and (not items or set(styles.values()) != {"header"} or self.draw(st.booleans())):
            line = self.line(header(path))
            self.seen(path, line)
            self.lines[path] = line
        for key, value in items:
            if styles[key] == "pair":
                self.pair(path, (key,), value)
            elif styles[key] == "dotted":
                for inner, leaf in value.items():
                    self.pair(path, (key, inner), leaf)
        for key, value in items:
            if styles[key] == "header":
                self.table((*path, key), value)

    def style(self, path: tuple[str, ...], value: object) -> str:
        if not isinstance(value, Mapping):
            return "pair"
        spread = any(isinstance(inner, list) for inner in value.values())  # so that lists stand on lines of their own
        styles = ["header"] if spread else ["pair", "header"]
        return self.draw(st.sampled_from([*styles, "dotted"] if value else styles))


@st.composite
def laid_out(draw) -> tuple[Policy, str, Layout]:
    policy = draw(policies())
    layout = Layout(draw)
    layout.table((), policy.plain())
    return policy, "\n".join(layout.out) + draw(st.sampled_from(["", "\n"])), layout


@calm
@given(policies())
def test_a_policy_written_down_reads_back_as_itself(policy):
    again = parse_policy(policy_text(policy))
    assert again == policy
    assert again.version == policy.version


@calm
@given(laid_out())
def test_layout_order_and_comments_change_neither_meaning_nor_version(case):
    policy, text, _ = case
    again = parse_policy(text)
    assert again.version == policy.version
    assert {table.name for table in again.tables} == {table.name for table in policy.tables}
    for table in policy.tables:
        assert set(again.table(table.name).columns) == set(table.columns)


@calm
@given(laid_out())
def test_every_key_is_found_on_its_line(case):
    _, text, layout = case
    assert key_lines(text) == layout.lines


@calm
@given(numeric_columns(), st.sampled_from(["lower", "upper", "step", "nan", "null", "unit_total", "domain"]))
def test_any_change_of_a_bound_changes_the_version(column, key):
    column = replace(column, null=None, nan=None, unit_total=None, domain=None)
    assert column.bounds is not None
    changed = {
        "lower": {"lower": column.bounds.lower - column.bounds.step},
        "upper": {"upper": column.bounds.upper + column.bounds.step},
        "step": {"step": column.bounds.step / 2},
        "nan": {"nan": column.bounds.upper},
        "null": {"null": column.bounds.lower},
        "unit_total": {"unit_total": {"lower": column.bounds.lower, "upper": column.bounds.upper}},
        "domain": {"domain": "range"},
    }
    assume(key != "null" or column.bounds.step != Fraction(1, 3))

    def version(one: ColumnPolicy) -> str:
        return Policy(Dataset("d", "d.duckdb"), BudgetPolicy(1), tables=[TablePolicy("t", "u", columns=[one])]).version

    assert version(replace(column, **changed[key])) != version(column)


@calm
@given(laid_out(), st.data())
def test_amending_changes_what_was_asked_and_keeps_every_comment(case, data):
    policy, text, layout = case
    table = data.draw(st.sampled_from(policy.tables))
    change, after = Change(table.name.upper(), {"description": "new"}, note="cost"), replace(table, description="new")
    if table.columns and data.draw(st.booleans()):
        column = data.draw(st.sampled_from(table.columns))
        change = Change(table.name, {"description": "new"}, column=column.name, note="cost")
        others = (replace(one, description="new") if one is column else one for one in table.columns)
        after = replace(table, columns=tuple(others))
    amended = amend_policy(text, [change])
    again = parse_policy(amended)
    assert again.version == policy.version  # a description promises nothing
    assert again.table(table.name).description == after.description
    assert set(again.table(table.name).columns) == set(after.columns)
    assert all(comment.strip() in amended for comment in layout.comments)
    assert "cost" in amended


TOML_VALUES = [
    *[
        "0",
        "-1",
        "1e999",
        "nan",
        "inf",
        "true",
        '""',
        '"?"',
        "[]",
        "{}",
        "[1, 'a']",
        "2020-01-01",
        "07:00:00",
        "'range'",
    ],
    *["{ table = 1 }", "[[1]]", "{ lower = {} }", "9999999999999999999999", '"\\u0000"', "0001-01-01T00:00:00+14:00"],
]


@calm
@given(policies(), st.data())
def test_a_mangled_policy_is_read_or_refused_but_never_breaks_the_reader(policy, data):
    lines = policy_text(policy).split("\n")
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(st.integers(0, len(lines) - 1))
        key, equals, _ = lines[index].partition(" = ")
        how = data.draw(st.sampled_from(["drop", "double", "value", "noise"]))
        value = data.draw(st.sampled_from(TOML_VALUES))
        noise = data.draw(st.text(alphabet="[]{}=.,\"'#\n ax1", max_size=5))
        lines[index] = {
            "drop": "",
            "double": f"{lines[index]}\n{lines[index]}",
            "value": f"{key} = {value}" if equals else lines[index],
            "noise": lines[index][:4] + noise + lines[index][4:],
        }[how]
    mangled, errors = read_policy("\n".join(lines))
    assert (mangled is None) == bool(errors)
    assert all("\n" not in error.message and error.message.startswith("tacit.toml") for error in errors)


@calm
@given(st.text(max_size=60) | st.text(alphabet="[]{}=.,\"'#\n ab1-", max_size=60))
def test_any_text_at_all_is_refused_in_peace(text):
    policy, errors = read_policy(text)
    assert policy is None
    assert errors


@pytest.mark.parametrize(
    "wanted",
    [
        lambda policy, _: any(table.unit_column for table in policy.tables),
        lambda policy, _: any(table.public for table in policy.tables),
        lambda policy, _: any(column.bounds for table in policy.tables for column in table.columns),
        lambda policy, _: any(isinstance(c.domain, ListDomain) for table in policy.tables for c in table.columns),
        lambda _, layout: any(isinstance(path[-1], int) for path in layout.lines),
        lambda policy, layout: policy.analysts and layout.comments,
    ],
    ids=["private", "public", "bounds", "list", "element on its own line", "comment"],
)
def test_the_generator_makes_what_it_should(wanted):
    search = settings(max_examples=5000, database=None, phases=[Phase.generate], deadline=None)
    find(laid_out(), lambda case: bool(wanted(case[0], case[2])), settings=search)


@pytest.mark.parametrize("layout", ["[a]\nb = 1\n", "a.b = 1\n", "a = { b = 1 }\n"])
def test_three_ways_to_write_a_table_are_one(layout):
    assert set(key_lines(layout)) == {("a",), ("a", "b")}
