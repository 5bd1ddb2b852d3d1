"""The report as one self-contained page: what was promised, what it costs, what can still be found out."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tacit.faces.anonymise.findings import OWNERS, cost_rows, counted_words, limits, recorded_words, risk_rows
from tacit.faces.anonymise.pictures import class_sizes, losses
from tacit.faces.demo.style import STYLE
from tacit.release.anonymise import Anonymised, Report

_OWN_STYLE = """
svg .gone { fill: var(--soft); }
.key i.g { background: var(--soft); }
.wide { overflow-x: auto; }
.wide table { table-layout: auto; width: auto; min-width: 100%; font-size: .85rem; }
.wide td, .wide th { width: auto; white-space: nowrap; max-width: 9rem; overflow: hidden; text-overflow: ellipsis; }
td.what, th.what { width: 60%; }
.warn { border-left: 4px solid var(--true); padding: .2rem .9rem; }
"""


def page(result: Anonymised, *, title: str, true_rows: bool = False) -> str:
    """The whole page. It is the owner's, and not for publication: its numbers are exact, and it may show true rows."""
    report = result.report
    parts = [
        _top(report, title),
        "<h2>What it costs</h2>",
        _cost(report),
        "<h2>What can still be found out</h2>",
        _risks(report),
        "<h2>Before and after</h2>" if true_rows else "<h2>As it is published</h2>",
        _rows(result, true_rows=true_rows),
        "<h2>What it does not protect</h2>",
        f"<article><ul>{''.join(f'<li>{escape(limit)}</li>' for limit in limits(report))}</ul></article>",
        _orders(report),
    ]
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f"{meta}<title>{escape(title)}, anonymised</title><style>{STYLE}{_OWN_STYLE}</style>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body><main>{"".join(parts)}</main></body></html>\n'


def _top(report: Report, title: str) -> str:
    utility, roles = report.utility, report.request.roles
    models = "".join(f"<li>{escape(model)}</li>" for model in report.models)
    out = f" Left out, having no role: {escape(', '.join(report.left_out))}." if report.left_out else ""
    entry = f" It is {escape(recorded_words(report))}."
    return f"""<h1>{escape(title)}, anonymised</h1>
    <p class="warn"><strong>{escape(OWNERS)}</strong></p>
    <p class="soft">{utility.rows:,} rows in {utility.classes:,} classes, by the method {escape(report.request.method)},
    in {report.seconds:.2f} seconds. Quasi-identifiers: {escape(", ".join(roles.quasi_identifiers))}.{out}</p>
    <article><p>Every class of the published table satisfies, recomputed from the table itself:</p><ul>{models}</ul>
    <p class="soft">{escape(counted_words(report.unit))}.</p>
    <p class="warn">This is not differential privacy. It is a disclosure by the data's owner, and the budget of a policy
    does not cover it.{entry}</p></article>"""


def _cost(report: Report) -> str:
    rows = "".join(
        f'<tr><td class="what">{escape(what)}</td><td>{escape(number)}</td></tr>' for what, number in cost_rows(report)
    )
    columns = [(column.name, column.ncp, column.entropy_loss) for column in report.utility.columns]
    key = (
        '<p class="key soft"><span><i class="p"></i>mean loss of a cell, 100 % says nothing</span>'
        '<span><i class="g"></i>share of the column’s entropy that is gone</span></p>'
    )
    wanted = report.request.wanted
    return f"""<article><table>{rows}</table></article><article><h3>What each column loses</h3>{losses(columns)}{key}
    </article><article><h3>How large the classes are</h3>{class_sizes(report.class_sizes, k=wanted.k)}</article>"""


def _risks(report: Report) -> str:
    rows = "".join(
        f'<tr><td class="what">{escape(what)}</td><td>{before}</td><td>{after}</td></tr>'
        for what, before, after in risk_rows(report)
    )
    link = report.linkage
    who = "every row of the table" if link.everyone else f"{link.people:,} rows, taken evenly over the table"
    return f"""<article><table><tr><th class="what"></th><th>before</th><th>after</th></tr>{rows}</table>
    <p class="price">The linkage attack knows all quasi-identifiers of {who}, and looks for the rows that fit. After
    anonymising none has fewer than {link.fewest:,} candidates; picking one is right {link.chance:.1%} of times.</p>
    </article>"""


def _rows(result: Anonymised, *, true_rows: bool) -> str:
    if not true_rows:
        return f'<article><div class="wide">{_table(*result.published_rows())}</div></article>'
    columns, before, after = result.samples()
    return (
        f'<article><h3>The table as it was</h3><div class="wide">{_table(columns, before)}</div></article>'
        f'<article><h3>As it is published</h3><p class="soft">Other rows, in another order.</p>'
        f'<div class="wide">{_table(columns, after)}</div></article>'
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: object) -> str:
    text = escape("" if value is None else str(value))
    return f'<td title="{text}">{text}</td>'


def _orders(report: Report) -> str:
    if not report.orders:
        return ""
    listed = "".join(
        f"<p><b>{escape(name)}</b>: {escape(', '.join(order))}</p>" for name, order in report.orders.items()
    )
    return f"""<h2>The order of categories</h2><article><p class="soft">An interval of categories runs along this order,
    so it is part of what is published.</p>{listed}</article>"""
