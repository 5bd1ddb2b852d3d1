"""Published counts and synthetic tables: charged what the accountant says, and kept under all that shapes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.charges import overheard
from support import linked
from support.places import COLUMNS, people, policy
from support.sources import Seeded
from support.synthetic import opened
from tacit import release
from tacit.accounting import range_rho, rho_for, zcdp_of, zcdp_to_dp
from tacit.core import Budget, GaussianEvent, Loss, sqrt_above
from tacit.curator.jobs import pricing
from tacit.errors import TacitError
from tacit.mechanisms import Gaussian
from tacit.policy import BudgetPolicy, ColumnPolicy, Policy
from tacit.release import publishing
from tacit.release.distributions import DistributionRequest
from tacit.release.hierarchies import HierarchyRequest
from tacit.release.linked import LinkedRequest
from tacit.release.linked import request as linked_request
from tacit.release.maps import HeatmapRequest
from tacit.release.publishing import Publisher
from tacit.release.synthesise import SynthesisPlan, SynthesisRequest
from tacit.release.synthesise.fitting.measuring import Meter

DELTA = Fraction(1, 10**6)
EPSILONS = st.fractions(Fraction(1, 10), 5, max_denominator=100)
WHO = ColumnPolicy("who", type="integer", lower=0, upper=63)
QUIET = settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
Wish = tuple[type, dict[str, Any]]
WISHES: dict[str, Wish] = {
    "heatmap": (HeatmapRequest, {"table": "people", "x": "who", "y": "age", "depth": 2}),
    "histogram": (DistributionRequest, {"table": "people", "column": "age"}),
    "hierarchy": (HierarchyRequest, {"table": "people", "place": "town", "levels": ("country", "region")}),
    "synthesise": (SynthesisRequest, {"table": "people", "columns": ("town", "age", "sex"), "method": "tree"}),
}


def declared(base: Path, *, columns: Sequence[ColumnPolicy] = (WHO, *COLUMNS[1:]), **more: Any) -> Policy:
    """People whose numbers have bounds, so that they may be drawn on a map."""
    budget = BudgetPolicy(10_000, "1e-1", default_delta=DELTA, accounting=more.pop("accounting", None))
    return policy(base, people(60), columns=columns, budget=budget, **more)


def published(over: Policy, wish: Wish, *, epsilon: object = 1, fresh: bool = True) -> tuple[bytes, bool]:
    """What a wish is given, with noise from one seed, and whether it was there already."""
    kind, fields = wish
    request = kind(**{"epsilon": epsilon, "delta": DELTA, "fresh": fresh, **fields})
    with opened(over) as (engine, ledger):
        found = Publisher(over, engine, ledger, Seeded(7)).publish(request, over.analyst("ana"))
        return request.plan(over, engine).pack(found.value), found.reused


# ── what is charged ──────────────────────────────────────────────────────────────────────────────────────────────────


def as_the_meter_says(meter: Meter) -> Fraction:
    """How far neighbours are apart in what a meter measures."""
    return Fraction(meter.sensitivity if meter.l2 is None else meter.l2)


def is_charged(
    over: Policy,
    wish: Wish,
    epsilon: Fraction,
    patch: pytest.MonkeyPatch,
    *,
    moved: Callable[[Meter], Fraction] = as_the_meter_says,
) -> None:
    """The charge is the loss that was typed, and in rho what an accountant says of the noise that was drawn."""
    far: list[Fraction] = []
    honest = Meter.measure

    def listening(self: Meter, *args: Any) -> Any:
        far.append(moved(self))
        return honest(self, *args)

    patch.setattr(Meter, "measure", listening)
    with overheard() as heard:
        published(over, wish, epsilon=epsilon)
    patch.setattr(Meter, "measure", honest)
    (paid,) = heard
    drawn = Fraction(0)
    for mechanism, l2 in zip(paid.drawn, far, strict=True):
        if isinstance(mechanism, Gaussian):
            drawn += zcdp_of(GaussianEvent(l2**2 / (2 * mechanism.sigma**2))).rho
        else:
            drawn += range_rho(2 * mechanism.rate * l2)
    assert paid.charge.zcdp is not None
    assert paid.charge.loss == Loss(epsilon, DELTA)
    assert paid.charge.zcdp.rho == zcdp_of(GaussianEvent(rho_for(Budget(epsilon, DELTA)))).rho
    assert paid.charge.zcdp.delta == 0
    assert zcdp_to_dp(paid.charge.zcdp.rho, DELTA).epsilon <= epsilon
    assert paid.charge.zcdp.rho * (1 - Fraction(1, 10**6)) < drawn <= paid.charge.zcdp.rho


@pytest.mark.parametrize("name", WISHES)
@pytest.mark.parametrize("accounting", ["approximate", "zcdp"])
@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
def test_what_is_published_is_charged_what_its_noise_costs(tmp_path, monkeypatch, name, accounting, adjacency):
    over = declared(tmp_path, adjacency=adjacency, accounting=accounting)
    is_charged(over, WISHES[name], Fraction(2, 3), monkeypatch)


@pytest.mark.parametrize("name", WISHES)
@QUIET
@given(epsilon=EPSILONS, max_rows=st.integers(1, 3))
def test_at_any_price_and_for_any_unit(tmp_path, name, epsilon, max_rows):
    unit = {} if name == "heatmap" else {"columns": COLUMNS, "unit": "who", "max_rows": max_rows}
    with pytest.MonkeyPatch.context() as patch:
        is_charged(declared(tmp_path, **unit), WISHES[name], epsilon, patch)


def a_tenth_of_rho(patch):
    whole = pricing.concentrated
    patch.setattr(publishing, "concentrated", lambda event: whole(GaussianEvent(event.rho / 10)))


def a_charge_of_half_the_loss(patch):
    whole = publishing._charge
    patch.setattr(publishing, "_charge", lambda *plan, **named: _halved(whole(*plan, **named)))


def _halved(charge):
    object.__setattr__(charge, "loss", charge.loss * Fraction(1, 2))
    return charge


@pytest.mark.parametrize("name", WISHES)
@pytest.mark.parametrize("planted", [a_tenth_of_rho, a_charge_of_half_the_loss])
def test_a_planted_wrong_charge_is_caught(tmp_path, monkeypatch, name, planted):
    planted(monkeypatch)
    with pytest.raises(AssertionError):
        is_charged(declared(tmp_path), WISHES[name], Fraction(2, 3), monkeypatch)


RECORDS = {
    "heatmap": (
        "publish",
        'PUBLISH 0.5 DELTA 0.000001 HEATMAP "who", "age" DEPTH 2 FROM "people"',
        "publish the heatmap of people",
    ),
    "histogram": (
        "publish",
        'PUBLISH 0.5 DELTA 0.000001 HISTOGRAM "age" BINS 4 FROM "people"',
        "publish the histogram of people",
    ),
    "hierarchy": (
        "publish",
        'PUBLISH 0.5 DELTA 0.000001 HIERARCHY "country", "region", "town" FROM "people"',
        "publish the hierarchy of people",
    ),
    "synthesise": (
        "synthesise",
        'SYNTHESISE 0.5 DELTA 0.000001 "town", "age", "sex" FROM "people" USING TREE',
        "synthesise people: tree, 3 columns",
    ),
}


@pytest.mark.parametrize("name", WISHES)
def test_the_record_says_what_was_published(tmp_path, name):
    with overheard() as heard:
        published(declared(tmp_path), WISHES[name], epsilon="1/2")
    ((charge),) = (paid.charge for paid in heard)
    assert (charge.kind, *charge.asked.questions, charge.note) == RECORDS[name]
    assert charge.asked.tables == ("people",)


def test_there_is_one_way_to_publish():
    """Whatever is published is paid for in one place; to anonymise is no private release, and only goes on record."""
    root = Path(release.__file__).parent
    paying = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if "payment import" in path.read_text()}
    assert paying == {"publishing.py", "anonymise/recording.py"}


LINKED: Wish = (LinkedRequest, {"tables": ("patients", "visits"), "method": "tree"})
CAP = 3  # visits of a patient that count


def moved_by_hand(over: Policy) -> Callable[[Meter], Fraction]:
    """Of linked tables: a patient is one row and up to `CAP` visits, in whole numbers of 1/1024 of a row."""
    rows = {"patients": 1, "visits": CAP}
    return lambda meter: 1024 * rows[meter.exact.plan.table] * sqrt_above(Fraction(over.adjacency.steps))


@pytest.mark.parametrize("accounting", ["approximate", "zcdp"])
@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
@pytest.mark.parametrize("epsilon", [Fraction(2, 3), Fraction(4)])
def test_linked_tables_are_charged_once_what_the_noise_of_all_of_them_costs(
    tmp_path, monkeypatch, accounting, adjacency, epsilon
):
    budget = BudgetPolicy(10_000, "1e-1", default_delta=DELTA, accounting=accounting)
    over = linked.policy(tmp_path, *linked.clinic(40), max_rows=CAP, adjacency=adjacency, budget=budget)
    is_charged(over, LINKED, epsilon, monkeypatch, moved=moved_by_hand(over))


def test_the_record_says_which_tables_were_linked(tmp_path):
    with overheard() as heard:
        published(linked.policy(tmp_path, *linked.clinic(40)), LINKED, epsilon="1/2")
    (charge,) = (paid.charge for paid in heard)
    made = '"sex", "age" FROM "patients"; "ward", "age" FROM "visits" USING TREE'
    said = f"PUBLISH 0.5 DELTA 0.000001 SYNTHESISE LINKED {made}"
    assert (charge.kind, *charge.asked.questions) == ("publish", said)
    assert charge.note == "publish the linked synthetic tables of patients"
    assert charge.asked.tables == ("patients", "visits")


def the_cap_is_no_factor(patch):
    """Visits are measured as if a patient had one of them: the noise of a row, not of all that count."""
    patch.setattr(linked_request, "moved", lambda counted, steps: counted.weight * sqrt_above(Fraction(steps)))


def a_replaced_patient_is_one_step(patch):
    patch.setattr(linked_request, "moved", lambda counted, _: Fraction(counted.sensitivity))


def each_table_has_all_of_rho(patch):
    patch.setattr(linked_request, "shares", lambda _: (Fraction(1), Fraction(1)))


@pytest.mark.parametrize(
    "planted",
    [
        the_cap_is_no_factor,
        a_replaced_patient_is_one_step,
        each_table_has_all_of_rho,
        a_tenth_of_rho,
        a_charge_of_half_the_loss,
    ],
)
def test_a_wrong_charge_planted_in_linked_tables_is_caught(tmp_path, monkeypatch, planted):
    over = linked.policy(tmp_path, *linked.clinic(40), max_rows=CAP, adjacency="replace")
    planted(monkeypatch)
    with pytest.raises(AssertionError):
        is_charged(over, LINKED, Fraction(2, 3), monkeypatch, moved=moved_by_hand(over))


# ── what is kept ─────────────────────────────────────────────────────────────────────────────────────────────────────


REQUESTS: tuple[Wish, ...] = (
    *((HeatmapRequest, {"table": "people", "x": x, "y": y, "depth": depth})
      for x, y, depth in (("who", "age", 2), ("age", "who", 2), ("who", "age", 3), ("WHO", "age", 2))),
    *((DistributionRequest, {"table": table, "column": column, "bins": bins})
      for table, column, bins in (
          ("people", "age", None), ("people", "age", 2), ("people", "age", 4), ("people", "who", 8),
          ("people", "who", 16), ("people", "sex", None), ("people", "town", None), ("PEOPLE", "Age", None),
          ("people", "who", None),
      )),
    *((HierarchyRequest, {"table": "people", "place": "town", "levels": levels, "by": by, "shares": shares})
      for levels, by, shares in (
          (("country", "region"), (), ()), (("region",), (), ()), ((), (), ()), (("country",), (), ()),
          (("country", "region"), ("age",), ()), (("country", "region"), ("age", "sex"), ()),
          (("country", "region"), ("sex", "age"), ()), (("country", "region"), (), (1, 1, 1, 1)),
          (("country", "region"), (), (2, 2, 2, 2)), (("country", "region"), (), (1, 0, 1, 2)),
          (("country", "REGION"), (), ()),
      )),
    *((SynthesisRequest, {"table": "people", "columns": columns, "method": method})
      for columns, method in (
          (("town", "age"), "tree"), (("age", "town"), "tree"), (("town", "age"), "mst"), (("town", "sex"), "tree"),
          (("TOWN", "age"), "tree"), (("town", "age", "sex"), "tree"),
      )),
)  # fmt: skip


def differing(base: Path, *, wishes: Sequence[Wish] = REQUESTS) -> tuple[list[Wish], int]:
    """Wishes that are given something else than a new release, with the same noise; and how many found one there."""
    for name in ("new", "kept"):  # a ledger of its own for each
        (base / name).mkdir()
    new, kept = (declared(base / name) for name in ("new", "kept"))
    fresh = [published(new, wish)[0] for wish in wishes]
    found, reused = [], 0
    for wish, wanted in zip(wishes, fresh, strict=True):
        try:
            given, again = published(kept, wish, fresh=False)
        except TacitError:  # what was kept is of another kind
            given, again = b"", True
        reused += again
        if given != wanted:
            found.append(wish)
    return found, reused


def test_a_kept_release_is_what_a_new_one_would_be_however_a_wish_is_renamed_reordered_or_rescaled(tmp_path):
    """With the same seed a release that shares another's key must be that very release."""
    found, reused = differing(tmp_path)
    assert found == []
    assert reused >= 3  # the same wish in other letters, or with shares in proportion


def forgotten(count):
    """A family that leaves out its last parts: the shape, or the shape and the words."""

    def plant(patch):
        whole = publishing.digest
        patch.setattr(publishing, "digest", lambda *parts: whole(*(parts if len(parts) < 4 else parts[:-count])))

    return plant


def columns_in_any_order(patch):
    whole = SynthesisPlan.keeping

    def unordered(self, **enough):
        keeping = whole(self, **enough)
        either = lambda facts: any(  # noqa: E731
            keeping.serves({**facts, "columns": order}) for order in (facts["columns"], facts["columns"][::-1])
        )
        return replace(keeping, serves=either)

    patch.setattr(SynthesisPlan, "keeping", unordered)


@pytest.mark.parametrize(
    ("planted", "kind"),
    [
        (forgotten(1), HierarchyRequest),
        (forgotten(2), DistributionRequest),
        (columns_in_any_order, SynthesisRequest),
    ],
)
def test_a_key_that_forgets_what_shapes_a_release_is_noticed(tmp_path, monkeypatch, planted, kind):
    planted(monkeypatch)
    found, _ = differing(tmp_path, wishes=[wish for wish in REQUESTS if wish[0] is kind])
    assert found


def test_no_release_is_kept_for_another_policy(tmp_path):
    """Bounds that are moved, or scaled, make another grid."""
    others = ({"lower": 1, "upper": 4}, {"lower": 0, "upper": 30}, {"lower": 0, "upper": 3, "null": 1})
    policies = [declared(tmp_path, columns=(WHO, COLUMNS[1], ColumnPolicy("age", type="integer", **each), COLUMNS[3]))
                for each in ({"lower": 0, "upper": 3}, *others)]  # fmt: skip
    wish = WISHES["histogram"]
    assert [published(over, wish, fresh=False)[1] for over in policies] == [False] * len(policies)
    assert published(policies[0], wish, fresh=False)[1]
