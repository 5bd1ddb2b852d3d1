"""The plan: it costs exactly what was typed, picks the smaller noise, and hides a lone key behind its threshold."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from sqlglot import exp

from conformance.sql_clinic import COLUMNS, VISITS, clinic, row_clinic, visits
from conformance.sql_world import policy_of, world
from tacit.accounting import loss_of, replace_loss, rho_for
from tacit.core import ApproximateEvent, Loss
from tacit.errors import QueryRefused, TacitError
from tacit.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from tacit.mechanisms.calibration.gaussian_job import rho_of_job
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql import Counted, Mode, Quantile
from tacit.sql.planning.bounding import MOST_GROUPS, WEIGHT
from tacit.sql.rules import Spread

QUESTIONS = [
    "COUNT(*)",
    "SUM(amount)",
    "AVG(amount)",
    "COUNT(*), SUM(amount), AVG(amount), STDDEV(age)",
    "MEDIAN(age), MAX(age), QUANTILE(age, 0.3)",
    "MODE(dept), TOP_K(age, 7)",
    "HISTOGRAM(dept)",
    "COUNT(DISTINCT patient_id), COUNT(DISTINCT city)",
    "SUM(amount * age) / COUNT(*), MIN(age), MODE(dept), COUNT(DISTINCT dept)",
    "0 * COUNT(*), 0 * SUM(age)",
    "COUNT(*) / (COUNT(age) - COUNT(amount)), SUM(age) / (COUNT(age) - COUNT(amount))",
    ", ".join(f"SUM(age * {n})" for n in range(1, 13)),
]


@pytest.fixture(scope="module")
def over():
    return clinic()


def spent(measurement):
    """What one measurement costs when one unit is added or removed, in pure epsilon."""
    noise, asked = measurement.noise, measurement.measure
    if isinstance(noise, Laplace):
        return Fraction(measurement.l1) / noise.scale
    if isinstance(noise, Exponential):
        weight = (
            1 if asked.share is None else max(asked.share.numerator, asked.share.denominator - asked.share.numerator)
        )
        assert isinstance(asked, Quantile)
        assert not noise.monotone
        return 2 * noise.rate * measurement.l1 * weight
    assert isinstance(noise, PermuteAndFlip)
    assert isinstance(asked, Mode)
    return asked.count * noise.rate * measurement.l1 * (1 if noise.monotone else 2)


@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
@pytest.mark.parametrize("epsilon", ["1", "1/3", "1e-3"])
@pytest.mark.parametrize("group", ["", "GROUP BY dept", "GROUP BY age"])
@pytest.mark.parametrize("asked", QUESTIONS)
def test_a_statement_costs_exactly_what_was_typed(asked, group, epsilon, adjacency):
    over = CLINICS[adjacency]
    made = over.plan(f"DP-SELECT {epsilon} {asked} FROM visits {group}")
    steps = made.unit.adjacency.steps
    assert sum(map(spent, made.measurements), Fraction(0)) * steps == Fraction(epsilon)
    assert sum((m.share for m in made.measurements), Fraction(0)) == 1
    assert made.loss == Loss(Fraction(epsilon)) == loss_of(made.event)


CLINICS = {name: clinic(dataset={"adjacency": name}) for name in ("add/remove", "replace")}


def normal_delta(rho: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """The delta of normal noises of this rho in all: together they are one, of mu = √(2 rho)."""
    mu, eps = mpmath.sqrt(mpmath.mpf(2 * rho.numerator) / rho.denominator), mpmath.mpf(str(float(epsilon)))
    return mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)


@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
@pytest.mark.parametrize("delta", ["1e-6", "1e-9", "1/7"])
@pytest.mark.parametrize("epsilon", ["1", "1/3", "0.1", "7"])
@pytest.mark.parametrize(
    "asked",
    [
        "age, COUNT(*) FROM visits GROUP BY age",
        "age, COUNT(*), SUM(amount), AVG(amount) FROM visits GROUP BY age",
        "city, SUM(amount) FROM visits GROUP BY city",
        "dept, city, SUM(amount) FROM visits GROUP BY dept, city",  # one private key of two
    ],
)
def test_gaussian_noise_costs_no_more_than_was_typed(asked, epsilon, delta, adjacency):
    made = WIDE[adjacency].plan(f"DP-SELECT {epsilon} DELTA {delta} {asked}")
    inner = made.loss if adjacency == "add/remove" else None
    if not all(isinstance(m.noise, Gaussian) for m in made.measurements):
        return  # Laplace noise was the better choice, and the test above holds for it
    steps = made.unit.adjacency.steps
    noises = [m.noise.event(steps * m.l2) for m in made.measurements]
    assert [event for event, _ in made.event.parts][: len(noises)] == noises
    rho = sum((m.noise.rho(m.l2) for m in made.measurements), Fraction(0))
    for_noise = made.measurements[0].noise.delta
    selection = made.selection.delta if made.selection else Fraction(0)
    if len(made.measurements) == 1:
        noise = made.measurements[0].noise
        one_step = Loss(noise.loss(made.measurements[0].l2).epsilon, for_noise + selection)
    else:
        allowed = made.loss.epsilon / made.unit.adjacency.steps
        assert normal_delta(rho, allowed) <= for_noise  # what is discrete about it: test_mechanism_gaussian_job
        one_step = Loss(allowed, for_noise + selection)
    whole = one_step if inner is not None else replace_loss(one_step)
    assert whole.within(made.loss)


@pytest.mark.parametrize("epsilon", ["1", "1/3", "0.1", "7"])
def test_of_a_replaced_unit_s_delta_nothing_is_wasted(epsilon):
    made = CLINICS["replace"].plan(f"DP-SELECT {epsilon} DELTA 1e-6 city, MEDIAN(age) FROM visits GROUP BY city")
    whole = replace_loss(Loss(made.loss.epsilon / 2, made.selection.delta))
    assert whole.within(made.loss)
    assert whole.delta > made.loss.delta * (1 - Fraction(1, 10**9))


def test_counts_that_only_grow_together_are_chosen_from_at_twice_the_rate(over):
    (mode,) = over.plan("DP-SELECT 1 MODE(dept) FROM visits").measurements
    assert mode.noise.rate * mode.l1 == 1


WIDE = {name: clinic(dataset={"adjacency": name}, max_groups=60) for name in ("add/remove", "replace")}


def test_the_noise_with_the_smaller_stated_error_is_taken():
    few, many = clinic(max_groups=1), clinic(max_groups=60)
    text = "DP-SELECT 1 DELTA 1e-6 age, COUNT(*) FROM visits GROUP BY age"
    assert isinstance(few.plan(text).measurements[0].noise, Laplace)
    assert isinstance(many.plan(text).measurements[0].noise, Gaussian)
    pure = many.plan(text.replace("DELTA 1e-6 ", ""))
    assert isinstance(pure.measurements[0].noise, Laplace)
    half_widths = [
        m.noise.error(Fraction(95, 100)) * m.step for plan in (many.plan(text), pure) for m in plan.measurements
    ]
    assert half_widths[0] < half_widths[1]


def test_a_choice_forces_laplace_noise_on_its_neighbours():
    made = WIDE["add/remove"].plan("DP-SELECT 1 DELTA 1e-6 age, COUNT(*), MEDIAN(amount) FROM visits GROUP BY age")
    assert [type(m.noise) for m in made.measurements] == [Laplace, Exponential]


# ── the threshold ────────────────────────────────────────────────────────────────────────────────────────────────────


def laplace_tail(scale, least):
    """P(noise ≥ least), least ≥ 1, exactly: q^least / (1 + q)."""
    with mpmath.workdps(60):
        q = mpmath.exp(-1 / (mpmath.mpf(scale.numerator) / scale.denominator))
        return q**least / (1 + q)


def gaussian_tail(sigma, least):
    """P(noise ≥ least) by adding up."""
    with mpmath.workdps(40):
        exact = mpmath.mpf(sigma.numerator) / sigma.denominator
        reach = int(40 * exact) + abs(least) + 3
        weights = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * exact**2)) for k in range(reach)]
        whole = 2 * mpmath.fsum(weights) - weights[0]
        return mpmath.fsum(weights[least:]) / whole


@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
@pytest.mark.parametrize("bounding", ["sample", "weigh", "auto"])
@pytest.mark.parametrize("delta", ["1e-6", "1e-3", "0.05"])
@pytest.mark.parametrize("epsilon", ["1", "0.2", "4"])
def test_a_key_of_one_unit_passes_with_no_more_than_delta_over_all_it_may_hold(epsilon, delta, bounding, adjacency):
    over = PRIVATE[bounding, adjacency]
    made = over.plan(f"DP-SELECT {epsilon} DELTA {delta} city, COUNT(*) FROM visits GROUP BY city")
    chosen = made.measurements[made.selection.measurement]
    assert chosen.measure.counted in {Counted.UNITS, Counted.ROWS}
    weight = WEIGHT if bounding == "weigh" else 1
    assert chosen.in_group == weight
    tries = made.caps.max_groups * (MOST_GROUPS if bounding == "weigh" else 1)
    least = made.selection.threshold - chosen.in_group  # noise that lifts a lone unit over the threshold
    tail = laplace_tail if isinstance(chosen.noise, Laplace) else gaussian_tail
    scale = chosen.noise.scale if isinstance(chosen.noise, Laplace) else chosen.noise.sigma
    if isinstance(chosen.noise, Gaussian) and scale > 300:
        return  # too long to add up; the law is the same
    allowed = mpmath.mpf(made.selection.delta.numerator) / made.selection.delta.denominator / tries
    assert tail(scale, least) <= allowed
    assert tail(scale, least - 1) > allowed * mpmath.mpf("0.999")  # and the threshold is not higher than it need be
    inner = Loss(made.loss.epsilon / made.unit.adjacency.steps, made.selection.delta)
    assert (inner if adjacency == "add/remove" else replace_loss(inner)).delta <= made.loss.delta


PRIVATE = {
    (bounding, adjacency): clinic(dataset={"adjacency": adjacency}, bounding=bounding)
    for bounding in ("sample", "weigh", "auto")
    for adjacency in ("add/remove", "replace")
}


@pytest.mark.parametrize("delta", ["0.3", "0.4", "0.499", "0.5", "0.6", "0.99"])
def test_a_key_of_one_unit_passes_with_no_more_than_a_delta_however_large(delta):
    made = clinic(max_groups=1).plan(f"DP-SELECT 0.01 DELTA {delta} city, MEDIAN(age) FROM visits GROUP BY city")
    chosen = made.measurements[made.selection.measurement]
    least = made.selection.threshold - chosen.in_group
    assert least >= 1
    assert laplace_tail(chosen.noise.scale, least) <= mpmath.mpf(delta)


@pytest.mark.parametrize("keys", ["dept, city", "city, dept"])
def test_one_private_key_makes_a_group_private(keys):
    text = f"{keys}, COUNT(*) FROM visits GROUP BY {keys}"
    with pytest.raises(QueryRefused, match="need a delta"):
        clinic().plan(f"DP-SELECT 1 {text}")
    made = {way: clinic(bounding=way).plan(f"DP-SELECT 1 DELTA 1e-6 {text}") for way in ("auto", "weigh")}
    assert all(plan.selection is not None for plan in made.values())
    assert made["auto"].caps.spread is Spread.SAMPLE
    assert "HAVING SUM(" in made["weigh"].statements[0].canonical  # a key that only units in too many groups have
    public = clinic(bounding="weigh").plan("DP-SELECT 1 DELTA 1e-6 dept, COUNT(*) FROM visits GROUP BY dept")
    assert "HAVING SUM(" not in public.statements[0].canonical


def test_a_threshold_that_is_one_too_low_would_be_noticed():
    made = PRIVATE["sample", "add/remove"].plan("DP-SELECT 1 DELTA 1e-6 city, COUNT(*) FROM visits GROUP BY city")
    chosen = made.measurements[made.selection.measurement]
    least = made.selection.threshold - 1 - chosen.in_group
    allowed = mpmath.mpf(made.selection.delta.numerator) / made.selection.delta.denominator / made.caps.max_groups
    assert laplace_tail(chosen.noise.scale, least) > allowed


def test_public_keys_need_no_threshold(over):
    assert over.plan("DP-SELECT 1 DELTA 1e-6 dept, COUNT(*) FROM visits GROUP BY dept").selection is None


def test_the_count_of_units_is_measured_once_if_it_was_asked_anyway(over):
    text = "DP-SELECT 1 DELTA 1e-6 city, {} FROM visits GROUP BY city"
    assert len(over.plan(text.format("COUNT(DISTINCT patient_id)")).measurements) == 1
    assert len(over.plan(text.format("SUM(amount)")).measurements) == 2
    one_row = clinic(max_rows=1)
    assert len(one_row.plan(text.format("COUNT(*)")).measurements) == 1


def test_a_filtered_count_is_not_the_count_that_chooses_keys(over):
    made = over.plan(
        "DP-SELECT 1 DELTA 1e-6 city, COUNT(DISTINCT patient_id) FILTER (WHERE insured) FROM visits GROUP BY city"
    )
    assert made.selection.measurement == 1


# ── bounding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("bounding", "text", "spread"),
    [
        ("auto", "COUNT(*) FROM visits", Spread.NONE),
        ("auto", "insured, COUNT(*) FROM visits GROUP BY insured", Spread.NONE),
        ("auto", "dept, COUNT(*) FROM visits GROUP BY dept", Spread.WEIGH_L1),
        ("sample", "dept, COUNT(*) FROM visits GROUP BY dept", Spread.SAMPLE),
        ("auto", "city, COUNT(*) FROM visits GROUP BY city", Spread.SAMPLE),
        ("weigh", "city, COUNT(*) FROM visits GROUP BY city", Spread.WEIGH_L2),
        ("weigh", "dept, MEDIAN(age) FROM visits GROUP BY dept", Spread.SAMPLE),
        ("weigh", "dept, COUNT(DISTINCT city) FROM visits GROUP BY dept", Spread.SAMPLE),
    ],
)
def test_heavy_units_are_bounded_as_policy_and_question_say(bounding, text, spread):
    made = clinic(bounding=bounding).plan(f"DP-SELECT 1 DELTA 1e-9 {text}")
    assert made.caps.spread is spread
    assert made.caps.max_groups == (1 if "GROUP" not in text else 2)
    weight = 1 if spread in {Spread.NONE, Spread.SAMPLE} else WEIGHT
    assert {m.step for m in made.measurements} == {Fraction(1, weight)}


@pytest.mark.parametrize(("bounding", "wide"), [("sample", False), ("weigh", True)])
def test_a_sum_has_the_bits_that_a_trillion_rows_of_full_weight_need(bounding, wide):
    made = clinic(bounding=bounding).plan("DP-SELECT 1 dept, SUM(amount) FROM visits GROUP BY dept")
    (total,) = made.measurements
    assert total.wide is wide is (total.measure.magnitude * WEIGHT * 10**12 >= 2**62 and bounding == "weigh")


@pytest.mark.parametrize(
    ("bounding", "text", "sampled"),
    [
        ("sample", "SUM(amount) FROM visits", True),
        ("sample", "COUNT(*), SUM(amount) FROM visits", True),
        ("sample", "COUNT(*) FROM visits", False),  # the fewer of them and max_rows count: nothing to choose
        ("auto", "SUM(amount) FROM visits", False),
        ("weigh", "SUM(amount) FROM visits", False),
        ("sample", "dept, SUM(amount) FROM visits GROUP BY dept", True),
        ("auto", "city, COUNT(*), SUM(amount) FROM visits GROUP BY city", True),
        ("auto", "dept, SUM(amount) FROM visits GROUP BY dept", False),
    ],
)
def test_rows_are_sampled_where_sums_are_and_the_policy_or_private_keys_ask_for_it(bounding, text, sampled):
    assert clinic(bounding=bounding).plan(f"DP-SELECT 1 DELTA 1e-9 {text}").caps.sampled_rows is sampled


def test_a_row_that_is_a_unit_moves_every_count_by_one():
    asked = "COUNT(*), COUNT(age), COUNT(DISTINCT city), MEDIAN(age), MODE(dept)"
    for by in ("", "GROUP BY dept"):
        made = row_clinic().plan(f"DP-SELECT 1 {asked} FROM visits {by}")
        assert {(m.in_group, m.l1, m.l2) for m in made.measurements} == {(1, 1, 1)}


@pytest.mark.parametrize(
    ("rows", "by", "size"),
    [
        (None, "", 1_000),
        (None, "dept", 1_000),
        (60_000, "", 60_000),
        (60_000, "dept", 20_000),
        (60_000, "city", 1_000),  # nobody knows how many there are
        (600, "city", 600),
        (6, "dept", 10),
        (6, "city", 10),
    ],
)
def test_errors_are_stated_for_the_rows_a_group_may_have_by_what_the_policy_says(rows, by, size):
    text = f"DP-SELECT 1 DELTA 1e-9 COUNT(*) FROM visits {by and f'GROUP BY {by}'}"
    assert clinic(rows=rows).plan(text).size == size


def test_sensitivities_are_rows_times_reach_times_groups(over):
    made = clinic(bounding="sample").plan(
        "DP-SELECT 1 dept, COUNT(*), SUM(amount), COUNT(DISTINCT patient_id) FROM visits GROUP BY dept"
    )
    by_counted = {m.measure.counted: m for m in made.measurements}
    assert [(m.in_group, m.l1) for m in (by_counted[Counted.ROWS], by_counted[Counted.UNITS])] == [(3, 6), (1, 2)]
    values = by_counted[Counted.VALUES]
    assert (values.in_group, values.l1) in {(3 * 25000, 6 * 25000), (3 * 50000, 6 * 50000)}
    assert all(m.l2**2 >= m.in_group**2 * made.caps.max_groups for m in made.measurements)


def test_asymmetric_bounds_count_their_farther_end():
    columns = [ColumnPolicy("x", lower=-5, upper=1000, step=1), ColumnPolicy("y", lower=-1000, upper=-5, step=1)]
    over = world(policy_of([TablePolicy("t", "row", columns=columns)]), "CREATE TABLE t (x INTEGER, y INTEGER)")
    assert [over.plan(f"DP-SELECT 1 SUM({c}) FROM t").measurements[0].l1 for c in ("x", "y", "-x", "ABS(y)")] == [
        1000
    ] * 4
    assert over.plan("DP-SELECT 1 SUM(x * y) FROM t").measurements[0].l1 == 10**6


def test_an_average_is_centred_and_charged_for_sum_and_count():
    columns = [ColumnPolicy("x", lower=0, upper=11, step=1, null=0)]
    over = world(policy_of([TablePolicy("t", "row", columns=columns)]), "CREATE TABLE t (x INTEGER)")
    made = over.plan("DP-SELECT 1 AVG(x) FROM t")
    assert {(m.l1, m.step) for m in made.measurements} == {(1, Fraction(1)), (11, Fraction(1, 2))}  # half steps: 5.5


@pytest.mark.parametrize(
    ("missing", "text"),
    [
        ("max_rows", "COUNT(*) FROM visits"),
        ("max_rows", "SUM(amount) FROM visits"),
        ("max_rows", "MEDIAN(age) FROM visits"),
        ("max_groups", "dept, COUNT(*) FROM visits GROUP BY dept"),
        ("max_groups", "dept, COUNT(DISTINCT patient_id) FROM visits GROUP BY dept"),
    ],
)
def test_a_missing_cap_is_a_refusal_with_the_line_to_add(missing, text):
    over = clinic(**{missing: None})
    with pytest.raises(QueryRefused, match=f"{missing} is not declared for visits") as caught:
        over.plan(f"DP-SELECT 1 {text}")
    assert f"add {missing} = … to [tables.visits]" in caught.value.hint


def test_what_needs_no_cap_is_answered_without_one():
    over = clinic(max_rows=None, max_groups=None)
    made = over.plan("DP-SELECT 1 COUNT(DISTINCT patient_id), COUNT(DISTINCT city) FROM visits")
    assert [m.l1 for m in made.measurements] == [1, 1]


def test_a_question_may_set_its_own_caps(over):
    options = "epsilon=1, max_groups_contributed={}, max_rows_contributed={}"
    text = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) dept, COUNT(*) FROM visits GROUP BY dept"
    tight, wide = over.plan(text.format(1, 1)), over.plan(text.format(2, 50))
    assert tight.caps.max_rows == tight.caps.max_groups == 1
    assert wide.measurements[0].in_group == 50 * WEIGHT
    by_row = row_clinic().plan(text.format(9, 9))
    assert by_row.measurements[0].l1 == 1  # each row is a person, whatever is typed


def widest(**caps):
    """A column as wide as a policy may declare one, and caps as loose as anyone would write."""
    columns = [ColumnPolicy("big", lower=-(1 << 62), upper=1 << 62, step=1), ColumnPolicy("odd", domain=(0, 1))]
    table = TablePolicy("t", "uid", columns=columns, **({"max_rows": 10**6, "max_groups": 10**6} | caps))
    return world(policy_of([table]), "CREATE TABLE t (uid INTEGER, big BIGINT, odd INTEGER)")


@pytest.mark.parametrize("text", ["SUM(big * big)", "SUM(big * big * big)", "AVG(big * big)"])
def test_a_sum_that_could_overflow_128_bits_is_refused_before_any_charge(text):
    with pytest.raises(TacitError, match="overflow"):
        widest().plan(f"DP-SELECT 1 {text} FROM t")


def test_caps_that_could_overflow_128_bits_are_refused_before_any_charge():
    widest(max_rows=1 << 23).plan("DP-SELECT 1 SUM(big) FROM t")
    with pytest.raises(TacitError, match="overflow"):
        widest(max_rows=1 << 24).plan("DP-SELECT 1 SUM(big) FROM t")


@pytest.mark.parametrize("price", ["1", "1e-9", "1 DELTA 1e-6"])
@pytest.mark.parametrize("text", ["SUM(big)", "AVG(big * 1000)", "SUM(big) / COUNT(*)", "STDDEV(big)", "COUNT(*)"])
@pytest.mark.parametrize("by", ["", " GROUP BY odd"])
def test_any_column_that_a_policy_may_declare_has_a_plan(text, price, by):
    made = widest().plan(f"DP-SELECT {price} {text} FROM t{by}")
    for measurement in made.measurements:
        wide = measurement.measure.counted is Counted.VALUES
        assert measurement.wide >= wide  # a count is wide only where its noise is
        assert ("AS INT128) AS " + measurement.column in made.statements[0].canonical) == wide


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-60"])
def test_an_epsilon_too_small_for_any_noise_is_an_error_and_no_endless_loop(over, epsilon):
    with pytest.raises(TacitError):
        over.plan(f"DP-SELECT {epsilon} COUNT(*) FROM visits")


def test_a_huge_epsilon_is_a_price_like_any_other(over):
    made = over.plan("DP-SELECT 1e9 COUNT(*) FROM visits")
    assert spent(made.measurements[0]) == 10**9


# ── the plan is a value ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_plan_depends_on_query_and_policy_and_not_on_the_data(over):
    other = world(over.policy, VISITS.replace("range(200)", "range(3)"), "CREATE TABLE cities (name VARCHAR)")
    text = (
        "DP-SELECT 1 DELTA 1e-6 city, COUNT(*), AVG(amount) FROM visits WHERE age > 30 GROUP BY city ORDER BY 2 LIMIT 3"
    )
    assert over.plan(text).hash == other.plan(text).hash


def test_the_key_ignores_price_and_dress_and_the_hash_does_not(over):
    base = over.plan("DP-SELECT 1 dept, COUNT(*) AS n FROM visits GROUP BY dept")
    same = [
        "DP-SELECT 0.5 dept, COUNT(*) AS n FROM visits GROUP BY dept",
        "DP-SELECT 1 DEPT, count(*) AS many FROM Visits GROUP BY 1 ORDER BY 2 LIMIT 1",
        "DP-SELECT 1 COUNT(*) * 2, dept FROM visits GROUP BY dept HAVING COUNT(*) > 3",
    ]
    for text in same:
        assert over.plan(text).key == base.key
        assert over.plan(text).hash != base.hash
    for text in [
        "dept, COUNT(age) AS n FROM visits GROUP BY dept",
        "dept, COUNT(*) FROM visits WHERE TRUE GROUP BY dept",
        "insured, COUNT(*) FROM visits GROUP BY insured",
    ]:
        assert over.plan(f"DP-SELECT 1 {text}").key != base.key


def test_another_policy_makes_another_key():
    text = "DP-SELECT 1 dept, COUNT(*) FROM visits GROUP BY dept"
    keys = {
        clinic(**change).plan(text).key
        for change in ({}, {"max_rows": 4}, {"max_groups": 3}, {"bounding": "sample"}, {"unit_form": "trim"})
    }
    assert len(keys) == 5
    assert visits().columns == COLUMNS


def test_or_in_a_condition_does_not_swallow_the_conditions_we_add(over):
    made = over.plan("DP-SELECT 1 dept, COUNT(*) FROM visits WHERE insured OR age > 20 GROUP BY dept")
    (where,) = [w for w in made.statements[0].tree.find_all(exp.Where) if w.find(exp.Or)]
    parts = [where.this]
    while any(isinstance(part, exp.And) for part in parts):
        parts = [side.unnest() for part in parts for side in (part.flatten() if isinstance(part, exp.And) else [part])]
    assert [type(part) for part in parts] == [exp.Or, exp.Is, exp.Not]


def test_the_noises_of_a_question_are_calibrated_together(over):
    made = WIDE["add/remove"].plan("DP-SELECT 1 DELTA 1e-6 age, COUNT(*), SUM(amount) FROM visits GROUP BY age")
    rho = sum(m.noise.rho(m.l2) for m in made.measurements)
    assert rho <= rho_of_job(made.loss, [(m.l2, m.share) for m in made.measurements])
    assert rho > rho_for(made.loss)  # by zCDP alone there would be more noise


@pytest.mark.parametrize(
    ("asked", "private"),
    [
        ("COUNT(*) FROM visits", False),
        ("dept, COUNT(*) FROM visits GROUP BY dept", False),
        ("city, COUNT(*) FROM visits GROUP BY city", True),
    ],
)
def test_the_choice_of_private_keys_and_nothing_else_is_an_event_that_fails_with_delta(over, asked, private):
    plan = over.plan(f"DP-SELECT 1 DELTA 1e-6 {asked}")
    assert (plan.selection is not None) is private
    chosen = [event for event, _ in plan.event.parts if isinstance(event, ApproximateEvent)]
    assert [event.loss for event in chosen] == ([Loss(0, plan.selection.delta)] if private else [])


@pytest.mark.parametrize("step", ["1", "0.5", "10"])
@pytest.mark.parametrize(("lower", "upper"), [(-70, 10), (-10, 70), (-70, -60), (60, 70)])
def test_a_unit_moves_a_sum_by_the_larger_end_of_its_own_total(lower, upper, step):
    column = ColumnPolicy("x", lower=-50, upper=50, step=step, unit_total={"lower": lower, "upper": upper})
    table = TablePolicy("t", "uid", columns=[column], max_rows=3, max_groups=1)
    (asked,) = (
        world(policy_of([table]), "CREATE TABLE t (uid INTEGER, x INTEGER)")
        .plan("DP-SELECT 1 SUM(x) FROM t")
        .measurements
    )
    assert asked.l1 * asked.step == 70
