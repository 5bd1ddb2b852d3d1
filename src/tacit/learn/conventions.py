"""scikit-learn's conventions, kept without needing it: parameters, rows, names of columns, what is not fitted."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM, Source


class Learner:
    """What every estimator of this room shares: `get_params`, `set_params` and the tags that scikit-learn asks for."""

    _kind = "classifier"
    _many_classes = False
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @classmethod
    def _parameters(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, by name."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters, by name."""
        known = self._parameters()
        for name, value in params.items():
            if name not in known:
                raise InvalidParameter(
                    f"no such parameter of {type(self).__name__}: {name}", hint=f"there are {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def _sort(self) -> str:
        """What it is: a classifier, a regressor, a transformer or a clusterer."""
        return self._kind

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        kind = self._sort()
        learns = kind in {"classifier", "regressor"}
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=learns),
            classifier_tags=ClassifierTags(multi_class=self._many_classes) if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            transformer_tags=TransformerTags() if kind == "transformer" else None,
            input_tags=InputTags(allow_nan=True, string=True),
            non_deterministic=True,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        shown = [
            f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()(f"this {type(self).__name__} is not fitted yet: it has learned nothing", hint="fit it")

    def _take_names(self, rows: Any, columns: Sequence[NDArray[Any]]) -> list[str]:
        """Remember what the columns are called, and what to call those without a name."""
        self.n_features_in_ = len(columns)
        given = names_of(rows)
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if given is not None:
            self.feature_names_in_ = np.array(given, dtype=object)
        return column_names(rows, len(columns))

    def _columns(self, rows: Any) -> list[NDArray[Any]]:
        """The columns of rows to predict, which must be those that were fitted."""
        self._check_fitted()
        columns = columns_of(rows)
        given, known = names_of(rows), getattr(self, "feature_names_in_", None)
        if given is not None and known is not None and list(known) != given:
            raise InvalidParameter(_different(list(known), given))
        if len(columns) != self.n_features_in_:
            raise InvalidParameter(
                f"X has {len(columns)} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
        return columns


class ClassLearner(Learner):
    """A classifier: it has `predict_proba`, and here is what follows from it."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """The probability of each class, for each row."""
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The likeliest class of each row."""
        best = self.predict_proba(X).argmax(axis=1)  # first: of what is not fitted it says so
        likely: NDArray[Any] = self.classes_[best]
        return likely

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """How often the likeliest class is the true one: exact, and so not private."""
        return float(np.mean(self.predict(X) == np.asarray(y)))


def numbers_among(values: Any, what: str) -> NDArray[np.float64]:
    """The values as doubles, however they are nested."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise InvalidParameter(f"the {what} are no numbers, or some rows of them are longer than others") from None


def source_of(given: Source | None) -> Source:
    """Where random bits come from: the operating system, unless a test says otherwise."""
    if given is None:
        return SYSTEM
    if not callable(getattr(given, "draw", None)):
        raise InvalidParameter(
            "source is no source of random bits: it takes no seed, for whoever knew it could take the noise off again",
            hint="leave it out",
        )
    return given


def columns_of(rows: Any) -> list[NDArray[Any]]:
    """The columns of a table: of a frame by its names, of anything else by place."""
    if hasattr(rows, "toarray"):
        raise InvalidParameter(
            "a sparse matrix is not taken: cells are counted column by column", hint="use .toarray()"
        )
    if hasattr(rows, "columns") and hasattr(rows, "__getitem__"):
        if len(set(rows.columns)) < len(rows.columns):
            raise InvalidParameter("two columns have the same name: which is meant cannot be told", hint="rename one")
        return _some([np.asarray(rows[name]) for name in rows.columns])
    array = array_of(rows, "rows")
    if array.dtype.kind == "c":
        raise InvalidParameter("Complex data not supported: a feature is a number or a category")
    if array.ndim != 2:
        raise InvalidParameter(
            f"Expected 2D array, got {array.ndim}D array instead: Reshape your data, a row for each row"
        )
    if array.shape[0] == 0:
        raise InvalidParameter("Found array with 0 sample(s): there is nothing to learn from")
    if array.shape[1] == 0:
        raise InvalidParameter(f"0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    return [array[:, index] for index in range(array.shape[1])]


def array_of(values: Any, what: str) -> NDArray[Any]:
    """The values as an array; those of a list as they are.

    numpy makes the cells of a list alike: of whole numbers and one text it makes texts, and then no number is the
    category it was. So one row would decide how all others are read. Where any cell came out as another, none is made
    alike.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidParameter(
            f"the {what} are no array: some of them are longer than others", hint="as many cells in every row"
        ) from None
    if not isinstance(values, list | tuple) or array.dtype.kind == "O":
        return array
    plain = np.empty(array.shape, dtype=object)
    plain[...] = values
    pairs = zip(plain.ravel().tolist(), array.ravel().tolist(), strict=True)
    return array if all(type(one) is type(other) and one == other for one, other in pairs) else plain


def _some(columns: list[NDArray[Any]]) -> list[NDArray[Any]]:
    if not columns or not columns[0].size:
        raise InvalidParameter("there is nothing to learn from: the frame has no rows, or no columns")
    return columns


def names_of(rows: Any) -> list[str] | None:
    """The names of a frame's columns, where all of them are text."""
    names = list(rows.columns) if hasattr(rows, "columns") else None
    return names if names and all(isinstance(name, str) for name in names) else None


def column_names(rows: Any, count: int) -> list[str]:
    """The names of so many columns: a frame's, else x0, x1, …"""
    return names_of(rows) or [f"x{index}" for index in range(count)]


def target_of(target: Any, *, rows: int) -> NDArray[Any]:
    """What is to be predicted, one for each row."""
    if target is None:
        raise InvalidParameter("requires y to be passed, but the target y is None")
    array = array_of(target, "targets")
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_of_column()
        array = array[:, 0]
    if array.ndim != 1 or array.dtype.kind == "c":
        raise InvalidParameter("the target has one value for each row, and no complex one: bad input shape")
    if array.shape[0] != rows:
        raise InvalidParameter(f"rows and targets are of different numbers: {rows} and {array.shape[0]}")
    if array.dtype.kind in "fO" and not all(map(_is_finite, array.tolist())):
        raise InvalidParameter("the target holds NaN or infinity: every row needs one", hint="leave such rows out")
    return array


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def labels_of(truth: NDArray[Any], declared: Sequence[Any] | None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes, and the number of each row's: those that were declared, else those that occur."""
    if declared is None:
        if truth.dtype.kind == "f" and (truth != np.rint(truth)).any():
            raise InvalidParameter("Unknown label type: continuous, where a class was expected", hint="name classes=")
        classes = _occurring(truth)
    else:
        classes = _named(declared)
    if classes.ndim != 1 or classes.size < 2 or not _are_apart(classes):
        raise InvalidParameter(
            "there is one class only, or one is named twice: there is nothing to tell apart",
            hint="name all with classes=, so that it does not depend on the rows",
        )
    return classes, _numbered(truth, classes)


def two_labels_of(truth: NDArray[Any], declared: Sequence[Any] | None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The two classes, and the number of each row's: those that were declared, else the two that occur."""
    if declared is None:
        classes = _the_two(truth)
    else:
        classes = _named(declared)
        if classes.shape != (2,) or not _are_apart(classes):
            raise InvalidParameter("this model tells two classes apart: classes names two")
    return classes, _numbered(truth, classes)


def _are_apart(classes: NDArray[Any]) -> bool:
    """Whether each names a class of its own."""
    labels = classes.tolist()
    return all(map(is_hashable, labels)) and len(set(labels)) == len(labels)


def _numbered(truth: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """The number of each row's class."""
    number = {label: index for index, label in enumerate(classes.tolist())}
    numbers = [number.get(label, -1) if is_hashable(label) else -1 for label in truth.tolist()]
    if -1 in numbers:
        raise InvalidParameter("the target holds a class that was not declared", hint="leave such rows out")
    return np.array(numbers, dtype=np.int64)


def is_hashable(value: object) -> bool:
    """Whether it can be looked up: a tuple that holds a list cannot."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _named(declared: Sequence[Any]) -> NDArray[Any]:
    """The classes that were declared, in their order."""
    if not isinstance(declared, Sequence | np.ndarray) or isinstance(declared, str):
        raise InvalidParameter("classes names each class once, in a list", hint="classes=[0, 1]")
    return array_of(list(declared), "classes")


def _occurring(truth: NDArray[Any]) -> NDArray[Any]:
    """The classes that occur, in order."""
    try:
        return np.unique(truth)
    except TypeError:
        raise InvalidParameter(
            "the target holds values of several types, which have no order", hint="name them with classes="
        ) from None


def _the_two(truth: NDArray[Any]) -> NDArray[Any]:
    if truth.dtype.kind == "f" and (truth != np.rint(truth)).any():
        raise InvalidParameter("Unknown label type: continuous, where a class was expected", hint="name classes=")
    labels = np.unique(truth.astype(str) if truth.dtype.kind == "O" else truth)
    if labels.size > 2:
        raise InvalidParameter(
            "Only binary classification is supported. The type of the target is multiclass.",
            hint="fit one model for each class, each at its own price",
        )
    if labels.size < 2:
        raise InvalidParameter(
            "the target has one class only: there is nothing to tell apart",
            hint="name both with classes=, so that it does not depend on the rows",
        )
    return _occurring(truth)


def _warn_of_column() -> None:
    """In scikit-learn's own category, where it is installed: a column was given where a row of values was expected."""
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        kind: type[Warning] = UserWarning
    else:
        kind = DataConversionWarning
    warnings.warn("A column-vector y was passed when a 1d array was expected", kind, stacklevel=4)


def _not_fitted() -> type[InvalidParameter]:
    """Ours; where scikit-learn is installed, one that is also its own."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return InvalidParameter
    return type("NotFitted", (InvalidParameter, NotFittedError), {})


def _different(known: list[str], given: list[str]) -> str:
    """What scikit-learn says of columns that are not those that were fitted."""
    lines = ["The feature names should match those that were passed during fit."]
    unseen = sorted(set(given) - set(known))
    missing = sorted(set(known) - set(given))
    if unseen:
        lines += ["Feature names unseen at fit time:", *(f"- {name}" for name in unseen[:5])]
    if missing:
        lines += ["Feature names seen at fit time, yet now missing:", *(f"- {name}" for name in missing[:5])]
    if not unseen and not missing:
        lines.append("Feature names must be in the same order as they were in fit.")
    return "\n".join(lines) + "\n"
