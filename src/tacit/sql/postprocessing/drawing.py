"""The same computing over many draws at once: one query that gives what each of them would have given."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.names.nodes import aliased
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.postprocessing.splitting import answer_name

DRAW = "_tacit_draw"  # which draw a row of an answer is of
DRAWS = "_tacit_draws"  # the table of their numbers
_ORDER = "_tacit_o"


def over_draws(tree: exp.Query, answers: int) -> tuple[str, int]:
    """A query whose first column is the draw, and how many columns for its order stand behind the others.

    Its rows are in the order of the draws, and within each in that of the query, if it has one.
    """
    copy = copied(tree)
    terms = _order_terms(copy)
    if isinstance(copy, exp.Select):
        for index, (term, _) in enumerate(terms):
            copy.append("expressions", aliased(term, f"{_ORDER}{index}"))
    names = {answer_name(index) for index in range(answers)}
    for table in [node for node in copy.find_all(exp.Table) if node.name in names]:
        table.replace(_of_draw(table.name))
    draw = exp.column("draw", table=DRAWS, quoted=True)
    rows = exp.Subquery(this=copy, alias=exp.TableAlias(this=exp.to_identifier("_tacit_q", quoted=True)))
    every = exp.Column(this=exp.Star(), table=exp.to_identifier("_tacit_q", quoted=True))
    query = exp.select(aliased(draw, DRAW), every).from_(_named(DRAWS))
    query = query.join(exp.Lateral(this=rows), join_type="CROSS", copy=False)
    ordered = [exp.Ordered(this=copied(draw), nulls_first=False)]
    for index, (_, item) in enumerate(terms):
        column = exp.column(f"{_ORDER}{index}", table="_tacit_q", quoted=True)
        ordered.append(exp.Ordered(this=column, desc=item.args.get("desc"), nulls_first=item.args.get("nulls_first")))
    query.set("order", exp.Order(expressions=ordered))
    return text_of(query, comments=False), len(terms)


def _order_terms(tree: exp.Query) -> list[tuple[exp.Expr, exp.Expr]]:
    """What the rows are ordered by, each with its ORDER BY item; nothing where columns could not be added for it."""
    order = tree.args.get("order")
    if order is None or not isinstance(tree, exp.Select) or tree.args.get("distinct"):
        return []
    terms = []
    for item in order.expressions:
        term = item.this
        if isinstance(term, exp.Literal):
            if not str(term.this).isdigit() or not 1 <= int(term.this) <= len(tree.expressions):
                return []
            listed = tree.expressions[int(term.this) - 1]
            term = listed.this if isinstance(listed, exp.Alias) else listed
        if term.find(exp.Star) or isinstance(term, exp.Var):
            return []
        terms.append((copied(term), item))
    return terms


def _of_draw(name: str) -> exp.Expr:
    draw = exp.EQ(
        this=exp.column(DRAW, table=name, quoted=True), expression=exp.column("draw", table=DRAWS, quoted=True)
    )
    select = exp.select(exp.Star()).from_(_named(name)).where(draw, copy=False)
    return exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)))


def _named(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))
