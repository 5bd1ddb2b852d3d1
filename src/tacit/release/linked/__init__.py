"""Linked synthetic tables: a parent's rows, and then its children's, drawn given the row they belong to."""

from tacit.release.linked.children import ChildModel
from tacit.release.linked.model import LinkedModel, file_of
from tacit.release.linked.request import LinkedPlan, LinkedRequest, plan_linked

__all__ = ["ChildModel", "LinkedModel", "LinkedPlan", "LinkedRequest", "file_of", "plan_linked"]
