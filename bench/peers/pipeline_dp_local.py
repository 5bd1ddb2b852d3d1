"""PipelineDP on its local backend, over a list of rows."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import clock
import pipeline_dp
import pyarrow.parquet as parquet
from pipeline_dp import Metrics

Row = tuple[int, int, int, str, float]  # number, user, age, city, amount


def questions(path: str) -> dict[str, clock.Question]:
    columns = parquet.read_table(path).to_pydict()
    rows = list(
        zip(
            range(len(columns["age"])),
            columns["user_id"],
            columns["age"],
            columns["city"],
            columns["amount"],
            strict=True,
        )
    )

    def ask(
        metrics: list[object],
        *,
        unit: int = 0,
        key: Callable[[Row], object] = lambda row: 0,
        public: list[object] | None = None,
        groups: int = 1,
        most: int = 1,
    ) -> object:
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        params = pipeline_dp.AggregateParams(
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            metrics=metrics,
            max_partitions_contributed=groups,
            max_contributions_per_partition=most,
            min_value=0,
            max_value=1000,
        )
        extractors = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[unit], partition_extractor=key, value_extractor=lambda row: row[4]
        )
        found = engine.aggregate(rows, params, extractors, public_partitions=public)
        accountant.compute_budgets()
        return list(found)

    return {
        "count": lambda: ask([Metrics.COUNT], public=[0]),
        "sum and average": lambda: ask([Metrics.SUM, Metrics.MEAN], public=[0]),
        "by age: count, sum, average": lambda: ask(
            [Metrics.COUNT, Metrics.SUM, Metrics.MEAN], key=lambda row: row[2], public=list(range(18, 91))
        ),
        "by city, ≤ 10 a user, private keys": lambda: ask(
            [Metrics.COUNT], unit=1, key=lambda row: row[3], groups=10, most=20
        ),
        "median": lambda: ask([Metrics.PERCENTILE(50)], public=[0]),
        "count distinct users": lambda: ask([Metrics.PRIVACY_ID_COUNT], unit=1, public=[0]),
    }


if __name__ == "__main__":
    clock.main(questions, version=version("pipeline-dp"), repeats=1)
