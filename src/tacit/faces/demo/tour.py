"""The tour: build, ask, attack, report."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from tacit.curator import Release
from tacit.errors import InvalidParameter, LedgerError, PolicyError, TacitError
from tacit.faces.database import Database, open_database
from tacit.faces.demo.data import DemoDataset, build_clinic, build_tax_office
from tacit.faces.demo.findings import NOISE, Attack, DemoAnswer, Tour, number_text
from tacit.faces.demo.questions import CLINIC, SECRET, TAX, Question
from tacit.faces.demo.report import report_html
from tacit.faces.owner.ledger_admin import verdict
from tacit.faces.terminal import print_lines, print_table, working
from tacit.mechanisms import Laplace

LEAST_ROWS = 10_000
REPEATS = 1_000  # how often the same question is asked again
FORGETFUL = 40_000  # answers of the system without a ledger
Truths = dict[Question, list[tuple[object, ...]]]


def run_demo(directory: Path | None, *, rows: int) -> Path:
    """Build the databases, ask, print as it goes, and leave `report.html`."""
    if rows < LEAST_ROWS:
        raise InvalidParameter(f"the demonstration needs at least {LEAST_ROWS:,} rows: got {rows:,}")
    folder = _empty(directory)
    started = time.monotonic()
    print_lines(f"building a tax office and a clinic of {rows:,} rows each in {folder}")
    with working("building"):
        tax_office, clinic = build_tax_office(folder, rows=rows), build_clinic(folder, rows=rows)
        truths = {**_truths((*TAX, SECRET), tax_office), **_truths(CLINIC, clinic)}
    with open_database(tax_office.policy_path, analyst="ana") as ana:
        tax = ask_all(TAX, ana, truths, heading="The tax office: one row, one person. Ana may spend ε = 3.")
    with open_database(tax_office.policy_path, analyst="mallory") as mallory:
        attack = average(mallory, truth=int(str(truths[SECRET][0][0])))
        tax_standing = mallory.budget
    with open_database(clinic.policy_path, analyst="ana") as ana:
        visits = ask_all(CLINIC, ana, truths, heading="The clinic: a patient is hidden with all of their visits.")
        clinic_standing = ana.budget
    checked = [verdict(office.policy) for office in (tax_office, clinic)]
    for finding in checked:
        if not finding.sound:
            raise LedgerError(f"the tour's ledger is not sound: {finding.problems[0]}")
    tour = Tour(
        rows,
        time.monotonic() - started,
        tax,
        visits,
        attack,
        tax_standing,
        clinic_standing,
        sum(finding.entries for finding in checked),
    )
    report = folder / "report.html"
    report.write_text(report_html(tour), encoding="utf-8")
    print_lines("", f"Both ledgers are whole. The report, with pictures: {report}")
    return report


def _truths(questions: tuple[Question, ...], office: DemoDataset) -> Truths:
    """True answers, by the owner's door, while no engine has the data open."""
    return {question: office.truth(question.truth) for question in questions if question.truth}


def ask_all(
    questions: tuple[Question, ...], database: Database, truths: Truths, *, heading: str
) -> tuple[DemoAnswer, ...]:
    """Ask one after another, and print each beside its truth."""
    print_lines("", heading)
    return tuple(_asked(question, database, truths.get(question, [])) for question in questions)


def _asked(question: Question, database: Database, true_rows: list[tuple[object, ...]]) -> DemoAnswer:
    print_lines("", question.title, f"  {question.sql}")
    started = time.monotonic()
    try:
        with working("asking"):
            release = database.query(question.sql)
    except TacitError as error:
        print_lines(*(f"  {line}" for line in error.explain().split("\n")))
        return DemoAnswer(question, None, (), 0, error, time.monotonic() - started)
    seconds = time.monotonic() - started
    truth, left_out = _beside(release, true_rows, keys=question.keys)
    answered = DemoAnswer(question, release, truth, 0 if "LIMIT" in question.sql else left_out, None, seconds)
    _print(answered, release)
    return answered


def _beside(
    release: Release, rows: list[tuple[object, ...]], *, keys: int
) -> tuple[tuple[tuple[object, ...], ...], int]:
    """The true rows in the answer's order, and how many true groups are not in it."""
    known = {tuple(map(str, row[:keys])): row for row in rows}
    return tuple(known[tuple(map(str, row[:keys]))] for row in release.rows), len(rows) - len(release.rows)


def _print(answered: DemoAnswer, release: Release) -> None:
    keys = answered.question.keys
    numbers = release.columns[keys:]
    columns = [*release.columns[:keys], *(text for name in numbers for text in (name, f"true {name}"))]
    cells = []
    for shown, true in zip(release.shown(), answered.truth, strict=True):
        pairs = zip(shown[keys:], map(number_text, true[keys:]), strict=True)
        cells.append([*shown[:keys], *(text for pair in pairs for text in pair)])
    indented = [[f"  {row[0]}", *row[1:]] for row in [columns, *cells]]
    print_table(indented[0], indented[1:])
    print_lines(f"  {release.footer()}", dim=True)


def average(mallory: Database, *, truth: int) -> Attack:
    """Ask the same question again and again: first plainly, then with FRESH until the money is gone."""
    print_lines("", "The averaging attack: ask again and again, and let the noise cancel out.", f"  {SECRET.sql}")
    with working("asking a thousand times"):
        plain = [_number(mallory, SECRET.sql) for _ in range(REPEATS)]
    print_lines(f"  asked {REPEATS:,} times: one noisy answer, {plain[0]}, given {REPEATS:,} times; paid once")
    fresh, refusal = _until_refused(mallory)
    mean = sum(fresh) / len(fresh)
    print_lines(
        f"  with FRESH: {len(fresh)} more answers, each paid for; their mean is {mean:,.1f}, the truth is {truth}"
    )
    if refusal is not None:
        print_lines(*(f"  {line}" for line in refusal.explain().split("\n")))
    return Attack(REPEATS, len(set(plain)), tuple(fresh), refusal, truth, _forgetful(truth))


def _until_refused(mallory: Database) -> tuple[list[int], TacitError | None]:
    answers: list[int] = []
    while True:
        try:
            answers.append(_number(mallory, SECRET.sql.replace("COUNT", "FRESH COUNT", 1)))
        except TacitError as error:
            return answers, error


def _number(database: Database, sql: str) -> int:
    return int(database.query(sql).scalar())


def _forgetful(truth: int) -> tuple[float, ...]:
    """The running mean of what a system with the same noise and no memory gives away."""
    answers = Laplace(NOISE).release(np.full(FORGETFUL, truth, dtype=np.int64))
    means: list[float] = (np.cumsum(answers) / np.arange(1, FORGETFUL + 1)).tolist()
    return tuple(means)


def _empty(directory: Path | None) -> Path:
    if directory is None:
        return Path(tempfile.mkdtemp(prefix="tacit-demo-"))
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PolicyError(f"{directory.name} cannot be made: {error.strerror}") from None
    if any(directory.iterdir()):
        raise PolicyError(f"{directory.name} is not empty: nothing is overwritten", hint="name a new directory")
    return directory.absolute()
