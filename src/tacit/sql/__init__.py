"""SQL: parse → bind → plan → emit. The only home of sqlglot."""

from tacit.sql.binding import post
from tacit.sql.binding.bind import BoundQuery, Output, bind
from tacit.sql.expressions.measures import Additive, Counted, Histogram, Mode, Quantile
from tacit.sql.parsing.parse import Parameters, parse, says_explain
from tacit.sql.parsing.query import AtEpsilon, DefaultPrice, Query, WithinError
from tacit.sql.planning.plan import Measurement, Plan, Selection
from tacit.sql.planning.planner import Planner, plan
from tacit.sql.planning.statement import Statement
from tacit.sql.postprocessing.binding import BoundStatement, bind_statement
from tacit.sql.postprocessing.dissection import PostProcessing

__all__ = [
    "Additive",
    "AtEpsilon",
    "BoundQuery",
    "BoundStatement",
    "Counted",
    "DefaultPrice",
    "Histogram",
    "Measurement",
    "Mode",
    "Output",
    "Parameters",
    "Plan",
    "Planner",
    "PostProcessing",
    "Quantile",
    "Query",
    "Selection",
    "Statement",
    "WithinError",
    "bind",
    "bind_statement",
    "parse",
    "plan",
    "post",
    "says_explain",
]
