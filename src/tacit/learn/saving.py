"""Models as text: what was learned and declared, in JSON that runs nothing when it is read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import ComposedEvent, Event, FineGaussianEvent, GaussianEvent, Loss, SampledEvent
from tacit.errors import InvalidParameter
from tacit.learn.classifiers.additive import AdditiveClassifier
from tacit.learn.classifiers.bayes import NaiveBayesClassifier
from tacit.learn.classifiers.bayes_gaussian import GaussianBayesClassifier
from tacit.learn.classifiers.logistic import LogisticClassifier
from tacit.learn.classifiers.neighbours import NeighbourVotesClassifier
from tacit.learn.classifiers.trees import TreeClassifier
from tacit.learn.conventions import Learner
from tacit.learn.networks.network import NetworkClassifier
from tacit.learn.regression.ridge import RidgeRegressor
from tacit.learn.sums.cells import FeatureCells
from tacit.learn.sums.moments import Scaled
from tacit.learn.unsupervised.clusters import KMeansClusters
from tacit.learn.unsupervised.components import PrincipalComponents

_FORMAT, _VERSION = "tacit model", 1
_SAVED = (
    *(AdditiveClassifier, KMeansClusters, NaiveBayesClassifier, NetworkClassifier, PrincipalComponents),
    *(GaussianBayesClassifier, LogisticClassifier, NeighbourVotesClassifier, RidgeRegressor, TreeClassifier),
)
_KINDS: dict[str, type[Learner]] = {kind.__name__: kind for kind in _SAVED}
_LEFT_OUT = {"source"}  # where its noise came from is nobody's business any more


def save_model(model: Learner, path: str | os.PathLike[str]) -> None:
    """Write a model. What is written is what was released: it may be handed to anybody who may see the model."""
    kind = type(model).__name__
    if kind not in _KINDS:
        raise InvalidParameter(f"no way to save a {kind}: there is {', '.join(_KINDS)}")
    held = {name: _told(value) for name, value in sorted(vars(model).items()) if name not in _LEFT_OUT}
    text = json.dumps({"format": _FORMAT, "version": _VERSION, "kind": kind, "holds": held}, indent=1, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8")


def load_model(path: str | os.PathLike[str]) -> Any:
    """The model that was saved. Reading runs nothing; what is not a model is refused."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidParameter(f"the model cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _no_model() from None
    try:
        kind, held = _parsed(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise _no_model() from None
    model = kind()
    if not set(held) <= {*kind.__init__.__annotations__, *_learned(kind)}:
        raise _no_model()
    for name, value in held.items():
        setattr(model, name, value)
    return model


def _parsed(stored: Any) -> tuple[type[Learner], dict[str, Any]]:
    if (stored["format"], stored["version"]) != (_FORMAT, _VERSION):
        raise KeyError
    return _KINDS[stored["kind"]], {str(name): _read(value) for name, value in stored["holds"].items()}


def _no_model() -> InvalidParameter:
    return InvalidParameter("that is no model of this version", hint="save_model(model, path) writes one")


def _learned(kind: type) -> set[str]:
    """What a model may hold once it is fitted: the names that its class and its parents announce."""
    return {name for base in kind.__mro__ for name in getattr(base, "__annotations__", {}) if name.endswith("_")}


def _told(value: object) -> Any:
    """As JSON: plain values as they are, everything else under the name of its kind."""
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return value.item() if isinstance(value, np.generic) else value
    for kind, tell in _TELLERS:
        if isinstance(value, kind):
            return tell(value)
    raise InvalidParameter(f"no way to save a {type(value).__name__}", hint="declare features with plain values")


_TELLERS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    ((Fraction, Decimal), lambda value: {"number": str(Fraction(value))}),
    (np.ndarray, lambda value: {"array": [_told(each) for each in value.tolist()], "of": value.dtype.str}),
    (dict, lambda value: {"mapping": [[_told(name), _told(each)] for name, each in value.items()]}),
    (tuple, lambda value: {"tuple": [_told(each) for each in value]}),
    (list, lambda value: {"list": [_told(each) for each in value]}),
    (FeatureCells, lambda value: {"cells": [_told(getattr(value, field.name)) for field in fields(value)]}),
    (Scaled, lambda value: {"scaled": [_told(getattr(value, field.name)) for field in fields(value)]}),
    (Loss, lambda value: {"loss": [str(value.epsilon), str(value.delta)]}),
    (GaussianEvent, lambda value: {"gaussian": str(value.rho)}),
    (FineGaussianEvent, lambda value: {"fine": [str(value.rho), str(value.variance)]}),
    (SampledEvent, lambda value: {"sampled": [str(value.probability), _told(value.event)]}),
    (ComposedEvent, lambda value: {"composed": [[_told(event), times] for event, times in value.parts]}),
)


def _read(told: Any) -> Any:
    if not isinstance(told, dict):
        if isinstance(told, list):
            raise TypeError
        return told
    if "array" in told:
        return np.array([_read(each) for each in told["array"]], dtype=np.dtype(str(told["of"])))
    (kind, held) = next(iter(told.items()))
    return _READERS[kind](held)


def _event(told: Any) -> Event:
    event = _read(told)
    if not isinstance(event, GaussianEvent | FineGaussianEvent | SampledEvent | ComposedEvent):
        raise TypeError
    return event


_READERS: dict[str, Callable[[Any], Any]] = {
    "number": Fraction,
    "mapping": lambda held: {_read(name): _read(each) for name, each in held},
    "tuple": lambda held: tuple(map(_read, held)),
    "list": lambda held: list(map(_read, held)),
    "cells": lambda held: FeatureCells(*map(_read, held)),
    "scaled": lambda held: Scaled(*map(_read, held)),
    "loss": lambda held: Loss(Fraction(held[0]), Fraction(held[1])),
    "gaussian": lambda held: GaussianEvent(Fraction(held)),
    "fine": lambda held: FineGaussianEvent(Fraction(held[0]), Fraction(held[1])),
    "sampled": lambda held: SampledEvent(Fraction(held[0]), _event(held[1])),
    "composed": lambda held: ComposedEvent(tuple((_event(event), int(times)) for event, times in held)),
}
