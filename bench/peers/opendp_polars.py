"""OpenDP through its Polars context, over a scan of the file: a data frame in memory takes it five times as long."""

from __future__ import annotations

from importlib.metadata import version

import clock
import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
AMOUNT = pl.col("amount").fill_null(0.0).fill_nan(0.0)
BOUNDS = (0.0, 1000.0)


def questions(path: str) -> dict[str, clock.Question]:
    table = pl.scan_parquet(path)
    most = table.select(pl.len()).collect().item()

    def context(unit: object, margins: list[object]) -> dp.Context:
        loss = dp.loss_of(epsilon=1.0, delta=1e-6)
        return dp.Context.compositor(
            data=table, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1, margins=margins
        )

    def by_row(*margins: object) -> dp.Context:
        return context(dp.unit_of(contributions=1), [dp.polars.Margin(max_length=most), *margins])

    def by_user(*margins: object) -> dp.Context:
        return context(dp.unit_of(contributions=1, identifier="user_id"), [dp.polars.Margin(max_length=most), *margins])

    def by_age() -> object:
        ages = dp.polars.Margin(by=["age"], invariant="keys", max_length=most, max_groups=73)
        return by_row(ages).query().group_by("age").agg(dp.len(), AMOUNT.dp.sum(BOUNDS)).release().collect()

    def by_city() -> object:
        cities = dp.polars.Margin(by=["city"], max_length=most)
        query = by_user(cities).query()
        few = query.truncate_num_groups(10, by=["city"], keep="first")  # "sample" fails in 0.16: a field named twice
        return few.truncate_per_group(20, by=["city"]).group_by("city").agg(dp.len()).release().collect()

    def median() -> object:
        candidates = [float(value) for value in range(1001)]
        return by_row().query().select(AMOUNT.dp.median(candidates)).release().collect()

    return {
        "count": lambda: by_row().query().select(dp.len()).release().collect(),
        "sum and average": lambda: by_row().query().select(AMOUNT.dp.sum(BOUNDS), dp.len()).release().collect(),
        "by age: count, sum, average": by_age,
        "by city, ≤ 10 a user, private keys": by_city,
        "median": median,
        "count distinct users": lambda: (
            by_user().query().truncate_per_group(1).select(pl.col("user_id").dp.n_unique()).release().collect()
        ),
    }


if __name__ == "__main__":
    clock.main(questions, version=version("opendp"), repeats=3)
