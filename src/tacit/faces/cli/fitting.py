"""`tacit fit`: a private model of a table, added up where the data lives."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.errors import InvalidParameter
from tacit.faces.cli.options import POLICY, Analyst, PolicyFile, needs_analyst
from tacit.faces.commands import Command
from tacit.faces.terminal import print_lines

if TYPE_CHECKING:
    from tacit.learn.sums.studies import SumsLearner


class ModelKind(StrEnum):
    """The models that can be fitted behind a curator."""

    ADDITIVE = "additive"
    LOGISTIC = "logistic"
    BAYES = "bayes"
    RIDGE = "ridge"
    COMPONENTS = "components"
    CLUSTERS = "clusters"
    GAUSSIAN_BAYES = "gaussian-bayes"
    NEIGHBOURS = "neighbours"
    TREE = "tree"


def fit(  # noqa: PLR0913 - the options of a command
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A table of the policy.")],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes, as JSON.")],
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COLUMN", help="What is to be predicted.", show_default=False),
    ] = None,
    model: Annotated[ModelKind, typer.Option("--model", "-m", help="Which model.")] = ModelKind.ADDITIVE,
    features: Annotated[
        str | None, typer.Option("--features", metavar="A,B,…", help="From these columns alone.", show_default=False)
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option("--classes", metavar="A,B", help="The classes; else the target's domain.", show_default=False),
    ] = None,
    epsilon: Annotated[str, typer.Option("--epsilon", "--eps", "-e", metavar="NUMBER", help="The whole price.")] = "1",
    delta: Annotated[str, typer.Option("--delta", metavar="NUMBER", help="The delta of it.")] = "0.000001",
    fresh: Annotated[bool, typer.Option("--fresh", help="Pay again, even if the same model is kept.")] = False,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
) -> None:
    """Fit a private model to a table, and keep it as JSON.

    What its columns may hold is what the policy says: bounds, or a list of values. The price is charged before a row is
    read. The same fit again is free.
    """
    from tacit.faces.database import open_database
    from tacit.learn import save_model

    who = needs_analyst(analyst)
    _writable(output)
    wanted = _estimator(model, _listed(classes), epsilon=epsilon, delta=delta)
    with open_database(policy, analyst=who) as database:
        fitted = database.fit(wanted, table, target=target, features=_listed(features), fresh=fresh)
        left = database.budget.left
    save_model(fitted, output)
    names = ", ".join(fitted.feature_names_in_)
    print_lines(f"{output}: {target} by {names}" if target else f"{output}: {names}")
    print_lines(f"cost {fitted.loss_}" + (f"; left {left}" if left else ""))
    print_lines(*(f"note: {note}" for note in fitted.notes_), dim=True)


def _estimator(kind: ModelKind, classes: list[str], **price: Any) -> SumsLearner:
    from tacit.learn import (
        AdditiveClassifier,
        GaussianBayesClassifier,
        KMeansClusters,
        LogisticClassifier,
        NaiveBayesClassifier,
        NeighbourVotesClassifier,
        PrincipalComponents,
        RidgeRegressor,
        TreeClassifier,
    )

    kinds: dict[ModelKind, type[SumsLearner]] = {
        ModelKind.ADDITIVE: AdditiveClassifier,
        ModelKind.LOGISTIC: LogisticClassifier,
        ModelKind.BAYES: NaiveBayesClassifier,
        ModelKind.RIDGE: RidgeRegressor,
        ModelKind.COMPONENTS: PrincipalComponents,
        ModelKind.CLUSTERS: KMeansClusters,
        ModelKind.GAUSSIAN_BAYES: GaussianBayesClassifier,
        ModelKind.NEIGHBOURS: NeighbourVotesClassifier,
        ModelKind.TREE: TreeClassifier,
    }
    estimator = kinds[kind](**price)
    if classes:
        if estimator.kind != "classifier":
            raise InvalidParameter("classes are told apart by a classifier: this model is none")
        estimator.set_params(classes=classes)
    return estimator


def _writable(path: Path) -> None:
    """Refuse a place where nothing can be written, before anything is paid."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidParameter(f"{path.name} cannot be written: it is a folder, or is in one that is not there")


def _listed(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


COMMANDS = (
    Command(
        "fit",
        fit,
        "a private model of a table, kept as JSON",
        examples="""
  tacit fit people --as ana --target income -o income.json
  tacit fit people --as ana --target income --features age,sex --eps 0.5 -o income.json
  tacit fit people --as ana --model clusters -o groups.json
""",
    ),
)
