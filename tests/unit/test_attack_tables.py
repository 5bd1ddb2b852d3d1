"""Attacks on tables and by asking: what they find where there is something, and what they say where not."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from support.sources import Seeded
from tacit.attack import (
    attack_table,
    averaging,
    differencing,
    from_sums,
    guessing,
    link,
    longitudinal,
    open_people,
    reconstruction,
    shadow_membership,
    side_channels,
    uniqueness,
)
from tacit.attack.asking import exactly, noisily
from tacit.attack.odds import risk_in_words
from tacit.attack.publications import PublishedRows, as_they_are, k_anonymous, noisy_tables, utility
from tacit.attack.results import against_chance, against_controls, ceiling, fisher
from tacit.core import Loss
from tacit.errors import InvalidParameter, TacitError


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """Two thousand people of whom age, postcode and sex tell nearly everyone apart."""
    path = tmp_path_factory.mktemp("town") / "town.csv"
    draws = np.random.default_rng(1)
    ages, codes = 18 + draws.integers(0, 70, 2000), 1000 + draws.integers(0, 60, 2000)
    sexes, ills = draws.choice(["f", "m"], 2000), draws.choice(["flu", "cold", "gout"], 2000)
    rows = (f"{a},{c},{s},{i}" for a, c, s, i in zip(ages, codes, sexes, ills, strict=True))
    path.write_text("\n".join(["age,postcode,sex,illness", *rows]))
    return path


@pytest.fixture(scope="module")
def people(town):
    return open_people(town, ["age", "postcode", "sex"], secret="illness", source=Seeded(2))


# ── linkage ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def tables():
    connection = duckdb.connect()
    tax = connection.sql("""SELECT * FROM (VALUES
        ('1959060783', 60, '1001', 'Polit'), ('1946061408', 72, '1001', 'Rent'), ('2100010101', 40, '6732', 'Time')
    ) tax(id, age, postcode, prof)""")
    dating = connection.sql("""SELECT * FROM (VALUES
        ('06/07', 'Li Pu', '60+', '1001', 'Politician'), ('06/14', 'Sara Lee', '60+', '1001', 'Rentier'),
        ('06/12', 'Nikos Papadopoulos', '60+', '1243', 'Politician'),
        ('01/01', 'A. B. Student', '40-60', '6732', 'Time Traveller'),
        ('05/08', 'Li Yang', '30-40', '6910', 'Policeman')
    ) dating(birthday, name, age, postcode, profession)""")
    return tax, dating


@pytest.mark.parametrize(
    "on",
    [
        ["id[5:6] || '/' || id[7:8] = birthday"],
        [
            "CASE WHEN age >= 60 THEN '60+' WHEN age >= 40 THEN '40-60' ELSE '30-40' END = age",
            "postcode = postcode",
            "prof[1:4] = profession[1:4]",
        ],
    ],
)
def test_the_lectures_tax_office_and_dating_site_relink_three_of_three(on):
    tax, dating = tables()
    assert link(tax, dating, on, source=Seeded(1)).pairs == ((0, 0), (1, 1), (2, 3))


def test_a_register_with_postcode_birth_date_and_sex_names_nearly_every_patient():
    """As Governor Weld was found in 1997: two made-up tables that share nothing else, and few links by chance."""
    draws = np.random.default_rng(20)
    connection = duckdb.connect()
    people = [
        (
            f"voter {number}",
            f"0213{draws.integers(5)}",
            f"{draws.integers(1930, 2000)}-{draws.integers(1, 366)}",
            str(sex),
        )
        for number, sex in enumerate(draws.choice(["f", "m"], 900))
    ]
    connection.execute("CREATE TABLE voters (name TEXT, zip TEXT, born TEXT, sex TEXT)")
    connection.executemany("INSERT INTO voters VALUES (?, ?, ?, ?)", people)
    patients = connection.sql(
        "SELECT * EXCLUDE name, 'flu' AS illness FROM voters USING SAMPLE 300 ROWS (reservoir, 3)"
    )
    found = link(patients, connection.table("voters"), ["zip = zip", "born = born", "sex = sex"], source=Seeded(1))
    assert len(found.pairs) > 0.95 * 300
    assert found.null < 0.25 * 300


def test_keys_with_a_typing_error_are_linked_where_that_is_allowed(tmp_path):
    names = [hashlib.sha256(bytes([place])).hexdigest()[:9] for place in range(40)]
    wrong = [
        name if place % 2 else name[:3] + name[4:] for place, name in enumerate(names)
    ]  # every other lacks a letter
    (tmp_path / "a.csv").write_text("\n".join(["name", *names]))
    (tmp_path / "b.csv").write_text("\n".join(["who", *reversed(wrong)]))
    exact = link(tmp_path / "a.csv", tmp_path / "b.csv", ["name = who"], source=Seeded(1))
    fuzzy = link(tmp_path / "a.csv", tmp_path / "b.csv", ["name = who"], typos=1, source=Seeded(1))
    assert len(exact.pairs) == 20
    assert len(fuzzy.pairs) == 40
    assert all(mine + other == 39 for mine, other in fuzzy.pairs)


def test_tables_of_other_people_are_linked_no_more_than_chance_links_them(tmp_path):
    draws = np.random.default_rng(3)
    alarms = 0
    for number in range(20):
        for name in ("a", "b"):
            cells = [f"{x},{y}" for x, y in draws.integers(0, 12, (30, 2))]
            (tmp_path / f"{name}.csv").write_text("\n".join(["x,y", *cells]))
        found = link(tmp_path / "a.csv", tmp_path / "b.csv", ["x = x", "y = y"], source=Seeded(number))
        alarms += found.result("a.csv").alarms
    assert alarms <= 6  # at one in twenty, more than that happens once in 30,000 times


@pytest.mark.parametrize(
    ("on", "typos", "message"),
    [
        ([], 0, "nothing is said to be alike"),
        (["x"], 0, "is no key"),
        (["x = nothing"], 0, "cannot be read"),
        (["x = x"], 3, "up to 2"),
    ],
)
def test_keys_that_make_no_sense_are_refused(tmp_path, on, typos, message):
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    with pytest.raises(InvalidParameter, match=message):
        link(tmp_path / "a.csv", tmp_path / "a.csv", on, typos=typos)


def test_uniqueness_grows_with_what_is_known(people):
    found = uniqueness(people)
    assert found["age", "postcode", "sex"] > found["age", "postcode"] > found["age",]
    assert found["age", "postcode", "sex"] > 0.75


# ── publications ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rows_without_names_give_nearly_everyone_away(people):
    rows = as_they_are(people)
    for attack, most in ((guessing.linkage, 0.02), (guessing.homogeneity, 0.2), (guessing.membership, 0.2)):
        found = attack(rows, people)
        assert found.alarms
        assert found.success > 0.7
        assert found.null < most
    assert utility(rows, people) == 1


@pytest.mark.parametrize("k", [None, 3, 20])
def test_the_classes_that_may_hold_a_person_are_those_whose_every_cell_covers_them(people, k):
    """Looked up eight at a time; here one by one."""
    rows = as_they_are(people) if k is None else k_anonymous(people, k)
    some = [known.codes[people.tried(members=False)[:60]] for known in people.known]

    def covers(cells, person):
        return all(cover[cell, own] for cover, cell, own in zip(rows.covers, cells, person, strict=True))

    one_by_one = [[covers(cells, person) for cells in rows.cells.T] for person in zip(*some, strict=True)]
    assert rows.candidates(some).tolist() == one_by_one
    assert rows.first(some).tolist() == [fits.index(True) if any(fits) else -1 for fits in one_by_one]
    assert k is not None or -1 in rows.first(some)  # somebody whom no row fits


def test_nobody_is_alone_among_five_and_two_such_tables_tell_more_than_one(people):
    first, second = k_anonymous(people, 5), k_anonymous(people, 5, by=[0, 1])
    assert guessing.linkage(first, people).success == 0
    together, alone = guessing.intersection(first, second, people), guessing.homogeneity(first, people)
    assert together.success >= alone.success
    assert 0.3 < utility(first, people) < 1


def test_cells_of_a_publication_cover_what_they_stand_for():
    from tacit.attack.people import KnownColumn
    from tacit.attack.publications import _covering

    ages = KnownColumn("age", ("18", "25", "30"), np.zeros(1, dtype=np.int64))
    words = KnownColumn("town", ("Bern", "Genf", "Zug"), np.zeros(1, dtype=np.int64))
    assert _covering(["18-25", "*", "30", "25|30", "?"], ages).tolist() == [
        [True, True, False],
        [True, True, True],
        [False, False, True],
        [False, True, True],
        [False, False, False],
    ]
    assert _covering(["Bern|Zug", "Genf"], words).tolist() == [[True, False, True], [False, True, False]]


def test_noisy_tables_are_worth_more_the_more_they_cost_and_no_attack_passes_its_ceiling(people):
    cheap, dear = noisy_tables(people, [Fraction(1, 10), Fraction(10)])
    assert utility(cheap, people) < utility(dear, people)
    for one in (cheap, dear):
        for attack in (guessing.inference, guessing.membership):
            found = attack(one, people)
            assert found.ceiling is not None
            assert found.low <= found.ceiling


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────

BITS = np.random.default_rng(4).random(1000) < 0.5


def test_exact_answers_give_every_bit_away():
    assert differencing(BITS, exactly, against="exact", source=Seeded(5)).success == 1
    assert reconstruction(BITS, exactly, questions=2000, against="exact", source=Seeded(5)).success >= 0.99
    assert reconstruction(BITS[:60], exactly, questions=120, against="x", by="linear programme").success >= 0.99


def test_through_the_door_at_a_total_epsilon_of_one_no_more_than_chance_is_reconstructed():
    each = noisily(Fraction(1, 2000), source=Seeded(6))
    found = reconstruction(BITS, each, questions=2000, against="DP-SELECT", loss=Loss(1), source=Seeded(6))
    assert found.success <= 0.55


def test_small_areas_published_exactly_are_solved_for():
    """Counts of a bit by area and age, and by area and sex, of areas of ten people: what a census prints."""
    draws = np.random.default_rng(7)
    area, age, sex = np.repeat(np.arange(60), 10), draws.integers(0, 8, 600), draws.integers(0, 2, 600)
    bits = draws.random(600) < 0.5
    groups = [
        *(area * 8 + age == cell for cell in range(480)),
        *(area * 2 + sex == cell for cell in range(120)),
        *(area * 16 + age * 2 + sex == cell for cell in range(960)),
    ]
    inside = np.array([group for group in groups if group.any()], dtype=np.int64)
    exact = from_sums(inside, exactly(inside @ bits), bits, against="small-area tables")
    noisy = from_sums(inside, noisily(Fraction(1, 3), source=Seeded(8))(inside @ bits), bits, against="noisy ones")
    assert exact.success > 0.75
    assert exact.alarms
    assert noisy.success < exact.success


def test_a_ledger_is_what_stops_averages():
    free = averaging(BITS, noisily(Fraction(1), source=Seeded(9)), times=50, against="no ledger", source=Seeded(9))
    shared = averaging(BITS, noisily(Fraction(1, 50), source=Seeded(9)), times=50, against="a ledger", source=Seeded(9))
    assert free.success > 0.95
    assert shared.success < 0.65


def test_a_device_that_remembers_its_report_tells_no_more_when_asked_again():
    anew = longitudinal(BITS, Fraction(1), times=50, remembered=False, source=Seeded(10))
    kept = longitudinal(BITS, Fraction(1), times=50, remembered=True, source=Seeded(10))
    assert anew.success > 0.95
    assert kept.ceiling is not None
    assert kept.low <= kept.ceiling < 0.82


# ── shadows ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_model_that_remembers_its_rows_is_found_out_and_one_that_does_not_is_not():
    values = np.random.default_rng(11).normal(size=200)

    def remembers(model, rows):
        return np.array([float(row in model) for row in rows]) + 0.1 * values[rows]

    found = shadow_membership(lambda rows: set(rows.tolist()), remembers, 200, shadows=6, source=Seeded(12))
    assert found.alarms
    assert found.success > 0.9
    nothing = shadow_membership(lambda rows: None, lambda model, rows: values[rows], 200, shadows=6, source=Seeded(12))
    assert not nothing.alarms


# ── side channels ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_digits_give_floating_noise_away_and_whole_numbers_have_none():
    floats = np.random.default_rng(13)
    textbook = side_channels.floating_digits(lambda t: t + floats.laplace(0, 1, t.size), against="numpy", draws=2000)
    ours = side_channels.floating_digits(noisily(Fraction(1)), against="ours", source=Seeded(16))
    assert textbook.success > 0.6
    assert textbook.alarms
    assert not ours.alarms


def test_an_error_reads_the_same_whoever_is_in_the_data_and_a_race_gets_no_more_than_the_budget():
    assert side_channels.error_texts()[0] == 0
    answers, covered = side_channels.budget_race(threads=4, budget=3)
    assert answers <= covered


def test_the_time_of_a_draw_can_be_looked_at():
    assert 0 <= side_channels.timing_of_draws(draws=80).success <= 1


# ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_fishers_test_is_scipys():
    from scipy import stats

    for table in ((5, 10, 1, 10), (0, 10, 3, 10), (20, 30, 15, 40)):
        hits, trials, others, compared = table
        expected = stats.fisher_exact([[hits, trials - hits], [others, compared - others]], alternative="greater")[1]
        assert fisher(*table) == pytest.approx(expected)


def test_a_ceiling_is_what_dp_allows():
    assert ceiling(0.05, None) is None
    assert ceiling(0.05, Loss(1)) == pytest.approx(0.05 * np.e)
    assert ceiling(0.5, Loss(1)) == pytest.approx(1 - 0.5 / np.e)
    assert ceiling(0.5, Loss(100)) == 1


def test_too_few_people_are_no_verdict():
    with pytest.raises(InvalidParameter, match="a verdict needs 20"):
        against_chance("averaging", "x", 3, 5, chance=0.5)
    with pytest.raises(InvalidParameter, match="a verdict needs 20"):
        against_controls("linkage", "x", (3, 500), (1, 5))


@pytest.mark.parametrize(
    ("known", "secret", "message"),
    [
        (["height"], "illness", "lacks the column 'height'"),
        (["age"], "salary", "lacks the column 'salary'"),
        ([], "illness", "no column is known"),
        (["age", "Illness"], "illness", "'illness' is named twice"),
        (["age", "AGE"], "illness", "'age' is named twice"),
    ],
)
def test_a_column_that_is_missing_is_named(town, known, secret, message):
    with pytest.raises(InvalidParameter, match=message):
        open_people(town, known, secret=secret)


def test_what_cannot_be_made_diverse_is_said_in_the_owners_words(tmp_path):
    (tmp_path / "odd.csv").write_text('"post""code",the illness\n' + "1000,flu\n" * 90)
    people = open_people(tmp_path / "odd.csv", ['post"code'], secret="the illness")
    with pytest.raises(TacitError, match="on the illness cannot be reached"):
        k_anonymous(people, 5, share=0.5)
    assert k_anonymous(people, 5).secrets.sum() == people.rows


def test_a_table_that_is_too_small_says_how_many_it_needs(tmp_path):
    (tmp_path / "few.csv").write_text("age,illness\n" + "30,flu\n" * 20)
    with pytest.raises(InvalidParameter, match="20 rows, and 60 are needed"):
        open_people(tmp_path / "few.csv", ["age"], secret="illness")
    with pytest.raises(InvalidParameter, match="no file"):
        open_people(tmp_path / "none.csv", ["age"], secret="illness")


def test_the_price_of_a_question_is_said_as_odds():
    said = risk_in_words(Loss(Fraction(1, 2), Fraction(1, 10**6)))
    assert "at most 62.2%" in said
    assert "1.64%" in said
    assert "0.000001" in said


def test_the_whole_suite_runs_and_says_how_far_it_is(town):
    seen = []
    found = attack_table(
        town, ["age", "postcode", "sex"], secret="illness", epsilons=[Fraction(1)],
        progress=lambda what, share: seen.append(share), source=Seeded(15),
    )  # fmt: skip
    assert seen == sorted(seen)
    rows, _, diverse, _, synthetic = found.published
    assert [one.name for one in found.published] == [
        "pseudonymised rows",
        "5-anonymous rows",
        "5-anonymous, 2-diverse rows",
        "DP-SELECT at ε = 1",
        "synthetic rows at ε = 1",
    ]
    assert "minimality" in {one.attack for one in diverse.results}
    assert {"rows from tables"} < {one.attack for one in found.questions}
    assert all(one.ceiling is not None and one.low <= one.ceiling for one in synthetic.results)
    assert 0.3 < synthetic.utility < 1
    assert found.skipped == ("similarity lacks what is alike in illness: it has no numbers",)
    assert rows.worst is not None
    assert rows.worst.advantage > 0.6
    assert found.above(0.5, against="pseudonymised")
    assert not found.above(0.999)
    with pytest.raises(InvalidParameter, match="nothing that was attacked"):
        found.above(0.5, against="a film")
    assert isinstance(as_they_are(open_people(town, ["age"], secret="illness")), PublishedRows)
