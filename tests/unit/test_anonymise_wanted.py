"""Models as a list and as numbers: the same wishes, each of them once, on all secrets or on one."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import tacit
from tacit.errors import InvalidParameter
from tacit.release.anonymise import (
    AlphaAnonymity,
    BetaLikeness,
    DeltaPresence,
    EntropyDiversity,
    KAnonymity,
    KMap,
    LDiversity,
    Prefix,
    RecursiveDiversity,
    TCloseness,
    anonymise,
    wanted_of,
)
from tacit.release.anonymise.recording import said
from tacit.release.anonymise.request import Request, Roles

TABLE = pd.DataFrame(
    {
        "age": [20 + i % 40 for i in range(400)],
        "ill": [("flu", "gout", "none", "none")[i % 4] for i in range(400)],
        "pay": [i * 7 % 50 for i in range(400)],
    }
)
SAME: list[tuple[list[Any], dict[str, Any]]] = [
    ([KAnonymity(5)], {"k": 5}),
    ([KMap(7)], {"k_map": 7}),
    ([KAnonymity(2), DeltaPresence(0, 0.5)], {"k": 2, "presence": (0, 0.5)}),
    ([KAnonymity(5), LDiversity(2)], {"k": 5, "l": 2}),
    ([KAnonymity(5), EntropyDiversity(1.5)], {"k": 5, "l": 1.5, "diversity": "entropy"}),
    ([KAnonymity(5), RecursiveDiversity(2, 3)], {"k": 5, "l": 2, "diversity": "recursive", "c": 3}),
    ([KAnonymity(5), TCloseness(0.3)], {"k": 5, "t": 0.3}),
    ([TCloseness(0.3, distance="ordered"), KAnonymity(5)], {"k": 5, "t": 0.3, "distance": "ordered"}),
    ([KAnonymity(5), BetaLikeness(2), AlphaAnonymity(0.9)], {"k": 5, "beta": 2, "alpha": 0.9}),
]


@pytest.mark.parametrize(("models", "numbers"), SAME, ids=str)
def test_a_list_of_models_means_what_the_numbers_mean(models: list[Any], numbers: dict[str, Any]) -> None:
    assert wanted_of(models) == wanted_of((), **numbers)
    assert wanted_of(models[1:], **_number(models[0])) == wanted_of(models)


def _number(model: Any) -> dict[str, Any]:
    if isinstance(model, KMap):
        return {"k_map": model.k}
    return {"k": model.k} if isinstance(model, KAnonymity) else {"t": model.t, "distance": model.distance}


@pytest.mark.parametrize(
    ("models", "numbers", "said"),
    [
        ([KAnonymity(5), KAnonymity(5)], {}, "k-anonymity is asked for twice"),
        ([KAnonymity(5)], {"k": 5}, "k-anonymity is asked for twice"),
        ([KAnonymity(5)], {"k": 2}, "k-anonymity is asked for twice"),
        ([LDiversity(2), EntropyDiversity(2)], {"k": 5}, "l-diversity is asked for twice"),
        ([LDiversity(2)], {"k": 5, "l": 2}, "l-diversity is asked for twice"),
        ([LDiversity(2)], {"k": 5, "diversity": "entropy"}, "diversity is said twice"),
        ([RecursiveDiversity(2, 3)], {"k": 5, "c": 2}, "c is said twice"),
        ([TCloseness(0.2), TCloseness(0.3)], {"k": 5}, "t-closeness is asked for twice"),
        ([TCloseness(0.2)], {"k": 5, "distance": "ordered"}, "distance is said twice"),
        ([LDiversity(2, "ill"), LDiversity(3, "ILL")], {"k": 5}, "l-diversity is asked for twice"),
        ([LDiversity(2, "ill"), LDiversity(3)], {"k": 5}, "l-diversity is asked for twice"),
        ([LDiversity(3), LDiversity(2, "ill")], {"k": 5}, "l-diversity is asked for twice"),
        ([LDiversity(2, "ill")], {"k": 5, "l": 2}, "l-diversity is asked for twice"),
        ([LDiversity(2)], {}, "no k"),
        (["k"], {}, "str is no model"),
        ([KAnonymity], {}, "KAnonymity is no model"),
        ([5], {}, "int is no model"),
    ],
)
def test_the_same_model_twice_is_refused(models: list[Any], numbers: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        wanted_of(models, **numbers)


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity("5"),  # type: ignore[arg-type]
        lambda: KAnonymity(2.5),  # type: ignore[arg-type]
        lambda: KAnonymity(True),
        lambda: KMap(None),  # type: ignore[arg-type]
        lambda: LDiversity("two"),  # type: ignore[arg-type]
        lambda: LDiversity(float("inf")),
        lambda: EntropyDiversity(True),
        lambda: RecursiveDiversity(2.5, 1),  # type: ignore[arg-type]
        lambda: RecursiveDiversity(2, "1"),  # type: ignore[arg-type]
        lambda: TCloseness(float("nan")),
        lambda: TCloseness("0.2"),  # type: ignore[arg-type]
        lambda: TCloseness(0.2, distance="crow flies"),
        lambda: TCloseness(0.2, distance=[]),  # type: ignore[arg-type]
        lambda: BetaLikeness("x"),  # type: ignore[arg-type]
        lambda: AlphaAnonymity(None),  # type: ignore[arg-type]
        lambda: DeltaPresence("0", 1),  # type: ignore[arg-type]
    ],
)
def test_a_model_with_a_number_that_makes_no_sense_is_refused_in_our_words(make: Any) -> None:
    with pytest.raises(InvalidParameter):
        make()


def test_models_is_a_list() -> None:
    for given in (KAnonymity(5), "k", None):
        with pytest.raises(InvalidParameter, match="models is a list"):
            anonymise(TABLE, ["age"], models=given)  # type: ignore[arg-type]


def test_a_table_made_by_models_is_the_one_made_by_numbers() -> None:
    by_models = anonymise(TABLE, ["age"], models=[KAnonymity(5), LDiversity(2)], sensitive="ill")
    by_numbers = anonymise(TABLE, ["age"], k=5, l=2, sensitive="ill")
    assert by_models.models == by_numbers.models == ("k = 5", "distinct l = 2 on ill")
    pd.testing.assert_frame_equal(by_models.to_pandas(), by_numbers.to_pandas())
    assert tacit.KAnonymity is KAnonymity


def test_a_model_of_one_secret_guards_that_one_alone() -> None:
    made = anonymise(
        TABLE, ["age"], models=[KAnonymity(4), LDiversity(4, "pay"), TCloseness(0.4, "ILL")], sensitive=["ill", "pay"]
    )
    assert made.models == ("k = 4", "distinct l = 4 on pay", "t = 0.4 (equal) on ill")
    classes = made.to_pandas().groupby("age", observed=True)
    assert classes["pay"].nunique().min() >= 4
    spread = TABLE["ill"].value_counts(normalize=True)
    for _, one in classes["ill"]:
        apart = (one.value_counts(normalize=True).reindex(spread.index, fill_value=0) - spread).abs().sum() / 2
        assert apart <= 0.4 + 1e-9


def test_a_model_of_a_column_that_is_no_secret_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="'town' is not a sensitive column"):
        anonymise(TABLE, ["age"], models=[KAnonymity(2), LDiversity(2, "town")], sensitive="ill")
    with pytest.raises(InvalidParameter, match="none is named"):
        anonymise(TABLE, ["age"], models=[KAnonymity(2), LDiversity(2, "ill")])


def test_a_hierarchical_distance_of_one_secret_needs_only_its_hierarchy() -> None:
    models = [KAnonymity(4), TCloseness(0.9, "ill", "hierarchical")]
    with pytest.raises(InvalidParameter, match="ill: a hierarchical distance needs its hierarchy"):
        anonymise(TABLE, ["age"], models=models, sensitive=["ill"])
    models.append(TCloseness(0.5, "pay", "ordered"))
    made = anonymise(
        TABLE.assign(job="any"), ["age"], models=models, sensitive=["ill", "pay", "job"],
        hierarchies={"ill": Prefix((1,))},
    )  # fmt: skip
    assert made.models[1:] == ("t = 0.9 (hierarchical) on ill", "t = 0.5 (ordered) on pay")


def test_what_is_on_record_names_the_models_of_one_secret_too() -> None:
    roles = Roles(quasi_identifiers=("age",), sensitive=("ill",))
    request = Request(roles=roles, wanted=wanted_of([KAnonymity(5), LDiversity(2, "ill")]))
    note = said(request, table="t")
    assert "k=5" in note
    assert "distinct l = 2 on ill" in note
