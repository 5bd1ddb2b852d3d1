"""SQL: parse → bind → plan → emit. The only home of sqlglot."""

from tacit.sql import post
from tacit.sql.bind import BoundQuery, Output, bind
from tacit.sql.measures import Additive, Counted, Histogram, Mode, Quantile
from tacit.sql.parse import Parameters, parse, says_explain
from tacit.sql.plan import Measurement, Plan, Selection, Statement
from tacit.sql.planner import Planner, plan
from tacit.sql.query import AtEpsilon, DefaultPrice, Query, WithinError

__all__ = [
    "Additive",
    "AtEpsilon",
    "BoundQuery",
    "Counted",
    "DefaultPrice",
    "Histogram",
    "Measurement",
    "Mode",
    "Output",
    "Parameters",
    "Plan",
    "Planner",
    "Quantile",
    "Query",
    "Selection",
    "Statement",
    "WithinError",
    "bind",
    "parse",
    "plan",
    "post",
    "says_explain",
]
