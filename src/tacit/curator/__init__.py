"""The curator: the seven rooms of a question, in order. The only importer of engines and ledger."""

from tacit.curator.curator import Curator
from tacit.curator.explain import Explanation
from tacit.curator.pricing import Session
from tacit.curator.release import Receipt, Release

__all__ = ["Curator", "Explanation", "Receipt", "Release", "Session"]
