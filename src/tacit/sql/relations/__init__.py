"""What stands after FROM: one table, or several joined, as one relation whose every row has one owner."""

from tacit.sql.relations.build import build, scope_of
from tacit.sql.relations.context import QueryContext
from tacit.sql.relations.joining.growth import CountedSchema
from tacit.sql.relations.joining.parts import looked_up
from tacit.sql.relations.relation import Relation

__all__ = ["CountedSchema", "QueryContext", "Relation", "build", "looked_up", "scope_of"]
