"""Reports of the local model, which are private already: added up by an engine, and packed for one."""

from tacit.engines.reports.adding import TABLE, pack, tally

__all__ = ["TABLE", "pack", "tally"]
