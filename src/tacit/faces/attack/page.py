"""The report as one self-contained page: every attack against every way to publish one table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tacit.attack import AttackResult, MembershipCurve, Published, RiskReport
from tacit.faces.attack.pictures import attacks, roc, trade_off
from tacit.faces.demo.style import STYLE

_OWN_STYLE = """
svg circle.found { fill: var(--refused); }
svg circle.private { fill: var(--private); }
svg rect.room { fill: var(--line); }
line.null { stroke: var(--soft); stroke-width: 2; }
line.ceiling { stroke: var(--true); stroke-width: 2.5; }
svg polyline { fill: none; stroke: var(--refused); stroke-width: 2.5; }
svg polyline.null { stroke: var(--soft); stroke-width: 2; }
svg polyline.ceiling { stroke: var(--true); stroke-width: 2.5; }
line.room { stroke: var(--line); stroke-width: 8; }
.key i.r, .key i.b { border-radius: 50%; width: .7rem; }
.key i.r { background: var(--refused); }
.key i.b { background: var(--private); }
.key i.n { width: 3px; height: .9rem; background: var(--soft); }
.key i.c { width: 3px; height: .9rem; background: var(--true); }
.warn { border-left: 4px solid var(--true); padding: .2rem .9rem; }
td.what, th.what { width: 64%; }
"""
_KEY = (
    '<p class="key soft"><span><i class="r"></i>gives people away</span><span><i class="b"></i>finds nothing</span>'
    '<span><i class="n"></i>the same attack on people who are not in the data</span>'
    '<span><i class="c"></i>what no attack exceeds, by the guarantee</span></p>'
)
_MEANING = {
    "linkage": "People of a register are looked for; found is who is alone there and fits one published row alone.",
    "homogeneity": "All rows that fit a person have one and the same secret, and it is the person's.",
    "skewness": "A secret is twice as frequent among the rows that fit as in all, and it is the person's.",
    "similarity": "All rows that fit have secrets that mean much the same, and the person's is one of them.",
    "minimality": "A class that was left whole tells by that: a finer one would have broken the rule of diversity.",
    "inference": "The secret is guessed from all that is known of a person.",
    "membership": "Whether a person is in the data at all.",
    "intersection": "Two publications of the same people, held against each other.",
    "differencing": "“All” less “all but one”, for one person's bit.",
    "averaging": "The same question fifty times, and the mean.",
    "reconstruction": "How many of random halves have the bit; then one solves for everybody's.",
    "rows from tables": "Tables of small areas are printed; solved for are whole numbers of people that fit all.",
    "longitudinal": "Randomised response, asked fifty times of the same device.",
}


def page(report: RiskReport, *, title: str) -> str:
    """The whole page. It is the owner's, and not for publication: it tells how to attack the data."""
    by_asking: dict[str, list[AttackResult]] = {}
    for one in report.questions:
        by_asking.setdefault(one.against, []).append(one)
    parts = [
        _top(report, title),
        "<h2>Worth against risk</h2>",
        f"""<article><p>Upwards: how much more often the best attack is right about people in the data than about
        others. To the right: how much of the tables of {escape(report.secret)} by each known column is right.</p>
        {trade_off(report.published)}</article>""",
        "<h2>What is published</h2>",
        *(_published(one) for one in report.published),
        *(_curve(one) for one in report.curves),
        "<h2>What is asked</h2>",
        "<p>Somebody asks for counts, after one bit of one person. A coin is right half of the time.</p>",
        *(_article(name, results) for name, results in by_asking.items()),
        "<h2>How unique people are</h2>",
        _unique(report),
        "<h2>What leaves beside the answer</h2>",
        f"<article><ul>{''.join(f'<li>{escape(line)}</li>' for line in report.channels)}</ul></article>",
        _skipped(report),
    ]
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f"{meta}<title>{escape(title)}, attacked</title><style>{STYLE}{_OWN_STYLE}</style>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body><main>{"".join(parts)}</main></body></html>\n'


def _top(report: RiskReport, title: str) -> str:
    return f"""<h1>{escape(title)}, attacked</h1>
    <p class="warn"><strong>This page is the owner's: its numbers are exact.</strong></p>
    <p class="soft">{report.rows:,} people, in {report.seconds:.0f} seconds. The attacker knows
    {escape(", ".join(report.known))} of everybody and is after {escape(report.secret)}. A tenth of the rows was held
    out of all that is published: what an attack finds out about those people is what it can guess of anybody. Each
    attack that has nothing to find alarms once in twenty times, by chance.</p>{_KEY}"""


def _published(one: Published) -> str:
    worst = one.worst
    said = "No attack gains more than chance explains."
    if worst is not None:
        said = f"The worst is {escape(worst.attack)}: {worst.advantage:.1%} more often right than about others."
    return _article(f"{one.name}", one.results, f"{one.utility:.1%} of its tables are right. {said}")


def _curve(curve: MembershipCurve) -> str:
    return f"""<article><h3>{escape(curve.against)}, by shadows</h3><p>{escape(str(curve))}.</p>
    <p>To the right: how many people who are not in the data are said to be; upwards: how many of those who are. Both
    axes are logarithmic, for whoever is found at few false alarms is found for certain.</p>{roc(curve)}</article>"""


def _article(name: str, results: Sequence[AttackResult], said: str = "") -> str:
    meanings = dict.fromkeys(_MEANING.get(one.attack, one.note) for one in results)
    told = f'<p class="price">{" ".join(escape(text) for text in meanings)}</p>'
    head = f"<h3>{escape(name)}</h3>" + (f"<p>{said}</p>" if said else "")
    return f"<article>{head}{attacks(results, title=name)}{told}</article>"


def _unique(report: RiskReport) -> str:
    rows = "".join(
        f'<tr><td class="what">{escape(", ".join(names))}</td><td>{share:.1%}</td></tr>'
        for names, share in sorted(report.unique.items(), key=lambda pair: -pair[1])
    )
    head = '<tr><th class="what">known together</th><th>alone with it</th></tr>'
    return f"<article><table>{head}{rows}</table></article>"


def _skipped(report: RiskReport) -> str:
    if not report.skipped:
        return ""
    listed = "".join(f"<li>{escape(line)}</li>" for line in report.skipped)
    return f"<h2>What could not be tried</h2><article><ul>{listed}</ul></article>"
