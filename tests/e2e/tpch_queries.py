"""The 22 queries of TPC-H as private questions, read from tpch/*.sql, and the page that says how each fares.

A file begins with the query's title. `refused` holds words of the refusal expected, `because` says why in plain words,
and the text after `instead` is what can be asked in its place. Write the page anew from the project's root:

    PYTHONPATH=src:tests python -m e2e.tpch_queries > docs/reference/tpch.md
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "tpch"
_LINE = re.compile(r"^-- (?:(refused|because|note|instead): )?(.*)\n", re.MULTILINE)


@dataclass(frozen=True)
class Query:
    """One query: as it stands, and what runs."""

    number: int
    title: str
    text: str
    refused: str | None = None
    because: str = ""
    note: str = ""
    change: str = ""
    instead: str | None = None

    @property
    def runs(self) -> str | None:
        """What is answered; None where nothing is."""
        return self.instead if self.refused else self.text


def _query(path: Path) -> Query:
    content = path.read_text(encoding="utf-8")
    said = {name or "title": words for name, words in _LINE.findall(content)}
    written, *instead = (
        _LINE.sub("", part).strip() for part in re.split(r"^(?=-- instead: )", content, flags=re.MULTILINE)
    )
    return Query(
        int(path.stem),
        said["title"],
        written,
        refused=said.get("refused"),
        because=said.get("because", ""),
        note=said.get("note", ""),
        change=said.get("instead", ""),
        instead=instead[0] if instead else None,
    )


QUERIES = tuple(_query(path) for path in sorted(FOLDER.glob("*.sql")))
RUNNING = tuple(query for query in QUERIES if query.runs)

_HEAD = """\
# TPC-H, privately

The {all} queries of the TPC-H benchmark over a policy that hides customers: {plain} run as they stand, {changed} after
a stated change, {none} are refused because nobody is in them. This page is made from the queries that the tests run. Of
each that runs they also check, by removing customers, that nobody moves its exact numbers farther than its plan says.

```toml
[tables.customer]
unit = "c_custkey"
[tables.orders]
unit = "o_custkey -> customer.c_custkey"
[tables.lineitem]
unit = "l_orderkey -> orders.o_orderkey"
[tables.part]       # and likewise supplier, partsupp, nation, region
public = true
```

Bounds, domains and caps are declared as well; [several tables](../how-to/several-tables.md) says how. Columns that the
policy does not name (names, addresses and comments of customers) are left out of all of them, and ε is 1.

| | query | runs | how |
|---|---|---|---|
"""


def page() -> str:
    """The page of the reference."""
    counts = {
        "all": len(QUERIES),
        "plain": sum(query.refused is None for query in QUERIES),
        "changed": sum(query.instead is not None for query in QUERIES),
        "none": sum(query.runs is None for query in QUERIES),
    }
    rows = "".join(f"| {query.number} | {query.title} | {_how(query)} |\n" for query in QUERIES)
    return _HEAD.format(**counts) + rows + "\n## As they run\n" + "".join(map(_shown, RUNNING))


def _how(query: Query) -> str:
    if query.runs is None:
        return f"refused | {query.because}"
    if query.refused is None:
        return f"as it stands | {query.note}"
    return f"after a change | {query.because}. Instead: {query.change}"


def _shown(query: Query) -> str:
    return f"\n**{query.number}. {query.title}**\n\n```sql\n{query.runs}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(page())
