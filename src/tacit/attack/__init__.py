"""The adversary: what a stranger finds out from what leaves, and how much epsilon that certifies.

    from tacit.attack import audit, mechanism_draw
    from tacit.mechanisms import Laplace

    print(audit(mechanism_draw(Laplace(1), (0, 1)), claimed=1))

This room uses what the others publish, and nothing else of theirs. Names are fetched from their files when they are
first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.attack.asking import averaging, differencing, from_sums, longitudinal, reconstruction
    from tacit.attack.auditing.certificate import Certificate, certified
    from tacit.attack.auditing.one_run import audit_one_run
    from tacit.attack.auditing.playing import audit, audit_sequentially
    from tacit.attack.auditing.queries import QueryAudit, audit_query
    from tacit.attack.auditing.strangers import EndpointDraw, callable_draw, load_callable, mechanism_draw
    from tacit.attack.census import AreaTables, SolvedArea, small_areas, solve_area
    from tacit.attack.curves import MembershipCurve, membership_curve, synthesiser_curve
    from tacit.attack.diversity import minimality, similarity, skewness
    from tacit.attack.linking import Links, link, uniqueness
    from tacit.attack.people import People, open_people
    from tacit.attack.results import AttackResult
    from tacit.attack.shadows import shadow_membership
    from tacit.attack.suite import Published, RiskReport, attack_table
    from tacit.attack.timing import timing_of_a_heavy_user, timing_of_answers

__all__ = [
    "AreaTables",
    "AttackResult",
    "Certificate",
    "EndpointDraw",
    "Links",
    "MembershipCurve",
    "People",
    "Published",
    "QueryAudit",
    "RiskReport",
    "SolvedArea",
    "attack_table",
    "audit",
    "audit_one_run",
    "audit_query",
    "audit_sequentially",
    "averaging",
    "callable_draw",
    "certified",
    "differencing",
    "from_sums",
    "link",
    "load_callable",
    "longitudinal",
    "mechanism_draw",
    "membership_curve",
    "minimality",
    "open_people",
    "reconstruction",
    "shadow_membership",
    "similarity",
    "skewness",
    "small_areas",
    "solve_area",
    "synthesiser_curve",
    "timing_of_a_heavy_user",
    "timing_of_answers",
    "uniqueness",
]

_NAMES = {
    "asking": ("averaging", "differencing", "from_sums", "longitudinal", "reconstruction"),
    "census": ("AreaTables", "SolvedArea", "small_areas", "solve_area"),
    "curves": ("MembershipCurve", "membership_curve", "synthesiser_curve"),
    "diversity": ("minimality", "similarity", "skewness"),
    "linking": ("Links", "link", "uniqueness"),
    "people": ("People", "open_people"),
    "results": ("AttackResult",),
    "shadows": ("shadow_membership",),
    "suite": ("Published", "RiskReport", "attack_table"),
    "timing": ("timing_of_a_heavy_user", "timing_of_answers"),
    "auditing.certificate": ("Certificate", "certified"),
    "auditing.one_run": ("audit_one_run",),
    "auditing.playing": ("audit", "audit_sequentially"),
    "auditing.queries": ("QueryAudit", "audit_query"),
    "auditing.strangers": ("EndpointDraw", "callable_draw", "load_callable", "mechanism_draw"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'tacit.attack' has no attribute {name!r}")
    public: object = getattr(import_module(f"tacit.attack.{_HOMES[name]}"), name)
    globals()[name] = public
    return public


def __dir__() -> list[str]:
    return __all__
