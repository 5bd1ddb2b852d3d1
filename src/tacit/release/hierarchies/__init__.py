"""Hierarchical counts: every level of a public tree measured, and all of them consistent (TopDown)."""

from tacit.release.hierarchies.counts import HierarchicalCounts
from tacit.release.hierarchies.request import HierarchyRequest

__all__ = ["HierarchicalCounts", "HierarchyRequest"]
