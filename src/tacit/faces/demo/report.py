"""The report: one self-contained page, with every question, its picture, its price and its truth."""

from __future__ import annotations

import math
from html import escape

from tacit.core import Budget
from tacit.curator import Release
from tacit.faces.budget_status import Account
from tacit.faces.demo.findings import NOISE, Attack, DemoAnswer, Tour, number_text
from tacit.faces.demo.pictures import Bar, bars, budget, running_means
from tacit.faces.demo.questions import SECRET
from tacit.faces.demo.style import STYLE

_KEY = (
    '<p class="key soft"><span><i class="p"></i>private answer</span>'
    '<span><i class="e"></i>its noise, 95 % of the time</span><span><i class="t"></i>truth</span></p>'
)
_ATTACK_KEY = (
    '<p class="key soft"><span><i class="p"></i>Mallory’s mean at tacit</span>'
    '<span><i class="o"></i>with the same noise and no ledger</span><span><i class="h"></i>truth</span></p>'
)


def report_html(tour: Tour) -> str:
    """The report as one page of HTML, with its pictures inside."""
    parts = [
        _top(tour),
        "<h2>The tax office</h2><p>One row, one person. Ana may spend ε = 3.</p>",
        *(_article(number, answered) for number, answered in enumerate(tour.tax, 1)),
        "<h2>The averaging attack</h2>",
        _attack(tour.attack),
        "<h2>The clinic</h2><p>A patient is hidden with all of their visits.</p>",
        *(_article(number, answered) for number, answered in enumerate(tour.clinic, len(tour.tax) + 1)),
        "<h2>What was spent</h2>",
        _budgets(tour),
    ]
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f"{meta}<title>tacit: private answers, beside the truth</title><style>{STYLE}</style>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body><main>{"".join(parts)}</main></body></html>\n'


def _top(tour: Tour) -> str:
    count = len(tour.tax) + len(tour.clinic)
    return f"""<h1>Private answers, beside the truth</h1>
    <p class="soft">A tax office and a clinic, {tour.rows:,} made-up rows each; {count} questions and an attack, in
    {tour.seconds:.0f} seconds. Analysts see the private numbers only: the true ones are here because this demonstration
    owns its data.</p>{_KEY}"""


def _article(number: int, answered: DemoAnswer) -> str:
    question = answered.question
    head = f"<h3>{number}. {escape(question.title)}</h3><p>{escape(question.why)}</p><pre>{escape(question.sql)}</pre>"
    if answered.release is None:
        return f"<article>{head}{_refusal(answered)}</article>"
    body = _pictures(answered, answered.release) if question.keys else _numbers(answered, answered.release)
    return f"<article>{head}{body}{_price(answered, answered.release)}</article>"


def _refusal(answered: DemoAnswer) -> str:
    error = answered.refusal
    if error is None:
        return ""
    hint = f"<br>hint: {escape(error.hint)}" if error.hint else ""
    said = f'<div class="refused"><b>error:</b> {escape(error.message)}{hint}</div>'
    return f'{said}<p class="price">Nothing was charged.</p>'


def _price(answered: DemoAnswer, release: Release) -> str:
    paid = f"Free: {escape(release.reused)}" if release.reused else f"It cost {escape(str(release.cost))}"
    left = "" if release.left is None else f"; {escape(str(release.left))} is left"
    few = {0: "", 1: " One group is too small to be shown."}
    hidden = few.get(answered.left_out, f" {answered.left_out} groups are too small to be shown.")
    return f'<p class="price">{paid}{left}. It took {answered.seconds * 1000:,.0f} ms.{hidden}</p>'


def _numbers(answered: DemoAnswer, release: Release) -> str:
    rows = ""
    for column, name in enumerate(release.columns):
        value, error = release.rows[0][column], release.errors[0][column]
        truth = answered.truth[0][column]
        near = "" if error is None else f" ± {_near(error, value, error)}"
        rows += (
            f'<tr><td>{escape(name)}</td><td class="big">{_near(value, value, error)}{near}</td>'
            f'<td class="truth">{_near(truth, value, error)}</td><td>{_off(value, truth)}</td></tr>'
        )
    return f'<table><tr><th></th><th class="big">private</th><th>true</th><th>off by</th></tr>{rows}</table>'


def _pictures(answered: DemoAnswer, release: Release) -> str:
    keys = answered.question.keys
    drawn = ""
    for column in range(keys, len(release.columns)):
        series = []
        for row, errors, true in zip(release.rows, release.errors, answered.truth, strict=True):
            value, error = row[column], errors[column] or 0.0
            text = f"{_near(value, value, error)} ± {_near(error, value, error)}"
            series.append(Bar(_label(row[:keys]), float(str(value)), error, float(str(true[column])), text))
        drawn += bars(series, title=release.columns[column])
    return drawn


def _label(key: tuple[object, ...]) -> str:
    words = [("yes" if value else "no") if isinstance(value, bool) else str(value) for value in key]
    text = " · ".join(words)
    return text[:7] if text[4:5] == "-" and text.endswith("-01") else text  # the first of a month stands for it


def _near(number: object, value: object, error: float | None) -> str:
    """A number to two digits of its error; counts are whole."""
    whole = isinstance(value, int) or error is None or error <= 0
    digits = 0 if whole else max(0, 1 - math.floor(math.log10(error or 1)))
    return f"{float(str(number)):,.{min(digits, 4)}f}"


def _off(value: object, truth: object) -> str:
    """How far the answer is from the truth."""
    gap, size = abs(float(str(value)) - float(str(truth))), abs(float(str(truth)))
    if not gap:
        return "nothing"
    if not size:
        return number_text(gap)
    return "&lt; 0.01 %" if gap / size < 0.0001 else f"{100 * gap / size:.2f} %"


def _attack(attack: Attack) -> str:
    total, means = 0, []
    for count, answer in enumerate(attack.fresh, 1):
        total += answer
        means.append(total / count)
    reach = 1.96 * math.sqrt(2 / len(means)) * float(NOISE)
    stop = f"the budget is spent, at ± {reach:.0f}"
    picture = running_means(means, attack.forgetful, truth=attack.truth, reach=reach, stop=stop)
    error = attack.refusal
    refusal = "" if error is None else f'<div class="refused"><b>error:</b> {escape(error.message)}</div>'
    numbers = "one number" if attack.different == 1 else f"{attack.different} numbers"
    return f"""<article><h3>{escape(SECRET.title)}</h3>
    <p>{escape(SECRET.why)} One answer has noise of scale {float(NOISE):.0f}, but the mean of many would not.
    So she asks again and again.</p><pre>{escape(SECRET.sql)}</pre>
    <p><b>Plainly, {attack.repeats:,} times:</b> a question already answered is answered from the shelf, free. She gets
    {numbers}, {attack.repeats:,} times.</p>
    <p><b>With <code>FRESH</code>:</b> new noise each time, and a new charge. After {len(attack.fresh)} more answers her
    ε = 1 is gone, and their mean may still be off by {reach:.0f}. She needed to tell 0 from 1.</p>
    {refusal}{picture}{_ATTACK_KEY}
    <p>Whatever Mallory does with ε = 1, a guess that was right half of the time becomes right at most
    {math.e / (1 + math.e):.0%} of the time. That is what ε means.</p></article>"""


def _budgets(tour: Tour) -> str:
    ana = _prices(tour.tax, 1)
    mallory = next(account for account in tour.tax_standing.analysts if account.name == "mallory")
    drawn = budget(ana, cap=3, name="Ana, tax office")
    drawn += budget([("M", _spent(mallory))], cap=1, name="Mallory")
    drawn += budget([*ana, ("M", _spent(mallory))], cap=4, name="all, tax office")
    drawn += budget(_prices(tour.clinic, len(tour.tax) + 1), cap=3, name="Ana, clinic")
    return f"""<article>{drawn}<p class="price">The numbers are those of the questions; M is Mallory. Analysts who put
    their answers together still learn no more than the total allows.</p>
    <p>The ledgers hold {tour.entries} entries, each sealed with the one before. <code>tacit ledger verify</code> found
    them whole.</p></article>"""


def _prices(answers: tuple[DemoAnswer, ...], first: int) -> list[tuple[str, float]]:
    return [
        (str(number), float(answered.release.cost.epsilon))
        for number, answered in enumerate(answers, first)
        if answered.release is not None and answered.release.cost.epsilon
    ]


def _spent(account: Account) -> float:
    return float(account.spent.epsilon) if isinstance(account.spent, Budget) else 0.0
