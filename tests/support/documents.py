"""Fenced code in Markdown, and whether what it prints is what the page says it prints."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(?P<label>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"-?\d(?:[\d,]*\d)?(\.\d+)?(e-?\d+)?")  # and no comma that follows one: "1, no more"
SAMPLE = "text sample"  # printed by noise: the words must agree, the numbers will not
EXACT = "text"


@dataclass(frozen=True)
class Block:
    """A fenced block: its label, its text, and the line it starts on."""

    label: str
    body: str
    line: int

    @property
    def file(self) -> str | None:
        """The file that the block is, if its first line says so: `# tacit.toml`."""
        first = self.body.partition("\n")[0]
        return first.removeprefix("# ") if re.fullmatch(r"# [\w.-]+\.toml", first) else None


def blocks(text: str) -> Iterator[Block]:
    for fence in _FENCE.finditer(text):
        yield Block(fence["label"].strip(), fence["body"], text.count("\n", 0, fence.start()) + 1)


def run(path: Path) -> int:
    """Run a page's Python from top to bottom in one namespace, and compare what it prints. How many blocks ran."""
    namespace: dict[str, object] = {"__name__": "__page__"}
    ran = 0
    printed: str | None = ""  # None: what follows was printed by a command
    page = list(blocks(path.read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in page:
            if block.label == "toml" and block.file is not None:
                Path(block.file).write_text(block.body, encoding="utf-8")
            elif block.label == "python":
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    exec(compile("\n" * block.line + block.body, str(path), "exec", dont_inherit=True), namespace)
                ran, printed = ran + 1, said.getvalue()
            elif block.label == "sh":
                printed = None
            elif block.label in {EXACT, SAMPLE} and ran and printed is not None:
                _compare(block, printed, where=f"{path.name}:{block.line}")
    return ran


def _compare(block: Block, printed: str, *, where: str) -> None:
    expected = block.body
    if block.label == SAMPLE:
        expected, printed = (_spaced(_NUMBER.sub("#", text)) for text in (expected, printed))
    assert printed == expected, f"{where} does not print what it says:\n{printed}"


def _spaced(text: str) -> str:
    """Tables are as wide as their numbers are."""
    return re.sub(r"[ ]+$", "", re.sub(r"([ ─])\1+", r"\1", text), flags=re.MULTILINE)
