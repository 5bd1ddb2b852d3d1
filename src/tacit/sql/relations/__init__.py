"""What stands after FROM: one table, or several joined, as one relation whose every row has one owner."""

from tacit.sql.relations.build import Reading, build, scope_of
from tacit.sql.relations.relation import Relation

__all__ = ["Reading", "Relation", "build", "scope_of"]
