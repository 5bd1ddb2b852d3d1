"""SmartNoise SQL, over a data frame in memory."""

from __future__ import annotations

from importlib.metadata import version

import clock
import pandas as pd
import snsql


def questions(path: str) -> dict[str, clock.Question]:
    table = pd.read_parquet(path)
    columns = {
        "age": {"type": "int", "lower": 18, "upper": 90},
        "amount": {"type": "float", "lower": 0.0, "upper": 1000.0},
        "city": {"type": "string"},
    }
    user = {"type": "int", "private_id": True}
    by_row = {"rows": len(table), "row_privacy": True, "user_id": {"type": "int"}, **columns}
    by_user = {"rows": len(table), "max_ids": 10, "censor_dims": True, "user_id": user, **columns}

    def ask(text: str, about: dict[str, object]) -> object:
        privacy = snsql.Privacy(epsilon=1.0, delta=1e-6)
        reader = snsql.from_df(table, privacy=privacy, metadata={"": {"d": {"trips": about}}})
        return reader.execute(text)

    return {
        "count": lambda: ask("SELECT COUNT(*) AS n FROM d.trips", by_row),
        "sum and average": lambda: ask("SELECT SUM(amount) AS s, AVG(amount) AS a FROM d.trips", by_row),
        "by age: count, sum, average": lambda: ask(
            "SELECT age, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS a FROM d.trips GROUP BY age", by_row
        ),
        "by city, ≤ 10 a user, private keys": lambda: ask(
            "SELECT city, COUNT(*) AS n FROM d.trips GROUP BY city", by_user
        ),
        "median": lambda: ask("SELECT MEDIAN(amount) AS m FROM d.trips", by_row),
        "count distinct users": lambda: ask("SELECT COUNT(DISTINCT user_id) AS n FROM d.trips", by_user),
    }


if __name__ == "__main__":
    clock.main(questions, version=version("smartnoise-sql"), repeats=1)
