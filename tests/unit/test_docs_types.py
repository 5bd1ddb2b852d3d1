"""The Python on every page is well typed: what a reader copies, a type checker accepts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from support.documents import blocks

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SETTINGS = f"""\
[mypy]
check_untyped_defs = True
warn_unreachable = True
strict_equality = True
warn_unused_ignores = True
mypy_path = {ROOT / "src"}
cache_dir = {ROOT / ".mypy_cache" / "docs"}
follow_imports = silent
disable_error_code = import-untyped, import-not-found
"""


def module_of(page: Path, folder: Path) -> Path | None:
    """The page's code as one module, each line where the page has it; None where there is none."""
    lines: list[str] = []
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.label == "python":
            lines += [""] * (block.line - len(lines)) + block.body.splitlines()
    if not lines:
        return None
    path = folder / (re.sub(r"\W", "_", page.name if page.parent == folder else str(page.relative_to(ROOT))) + ".py")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def faults(pages: list[Path], folder: Path) -> str:
    """What mypy has to say, in a process of its own."""
    (folder / "mypy.ini").write_text(SETTINGS, encoding="utf-8")
    modules = [str(module) for page in pages if (module := module_of(page, folder)) is not None]
    assert modules
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(folder / "mypy.ini"), *modules],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout if done.returncode else ""


def test_the_code_of_every_page_is_well_typed_and_what_is_not_is_noticed(tmp_path: Path) -> None:
    assert faults(PAGES, tmp_path) == ""
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```python\nimport tacit\n\ntacit.open(3, analyst='ana').query('x').scala()\n```\n")
    said = faults([page], tmp_path)
    assert 'page_md.py:6: error: "Release" has no attribute "scala"' in said
    assert 'incompatible type "int"' in said
