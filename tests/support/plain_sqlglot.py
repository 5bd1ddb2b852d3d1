"""sqlglot as it is without its compiled build, in a process that has not imported it yet."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader


class _Sources(MetaPathFinder):
    """Finds the modules of sqlglot by their sources alone."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "sqlglot":
            return None
        specs = (FileFinder(each, (SourceFileLoader, [".py"])).find_spec(fullname) for each in path or sys.path)
        return next((spec for spec in specs if spec is not None), None)


def import_plainly() -> None:
    """From here on sqlglot is imported without its compiled modules."""
    sys.meta_path.insert(0, _Sources())
