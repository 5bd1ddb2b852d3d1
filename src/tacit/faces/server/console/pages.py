"""How a page is made: templates that escape whatever they are given, and headers that let nothing else in."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import jinja2
from starlette.responses import HTMLResponse, Response

from tacit.core import decimal_text
from tacit.curator.forms.cells import in_one_line
from tacit.faces.server.console.visitors import Visitor

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer browsers hide the origin of our own forms, too
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_NAV = {
    "analyst": (("Ask", "/ask"), ("Budget", "/budget"), ("Data", "/data"), ("Log", "/log")),
    "curator": (("Budget", "/budget"), ("Data", "/data"), ("Log", "/log"), ("Policy", "/policy"), ("Risk", "/risk")),
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the console's own, ready to be sent."""

    content: bytes
    kind: str

    @property
    def mark(self) -> str:
        """Which version it is: part of its address, so that browsers may keep it."""
        return hashlib.sha256(self.content).hexdigest()[:12]


def static_files() -> Mapping[str, StaticFile]:
    """All there are, by name. What is asked for is looked up here, and never on a disk."""
    folder = files("tacit.faces.server.console") / "static"
    return {
        path.name: StaticFile(path.read_bytes(), _KINDS[path.name[path.name.rindex(".") :]])
        for path in folder.iterdir()
        if path.name.endswith(tuple(_KINDS))
    }


class PageMaker:
    """Makes pages from templates. Everything that is put into one is text, whatever it looks like."""

    def __init__(self, *, static: Mapping[str, StaticFile]) -> None:
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("tacit.faces.server.console", "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "line": in_one_line,
            "when": _when,
            "exact": decimal_text,
            "share": _share,
            "whole": _whole,
            "about": _about,
        }
        self._templates.globals["static"] = lambda name: f"/static/{name}?v={static[name].mark}"

    def page(
        self, template: str, *, visitor: Visitor | None, dataset: str, status: int = 200, **content: object
    ) -> Response:
        """A page as a response: the template with what every page shows around it."""
        more = _more(content.pop("surveys_nav", False))
        nav = () if visitor is None else (*_NAV[visitor.role], *more)
        text = self._templates.get_template(template).render(visitor=visitor, dataset=dataset, nav=nav, **content)
        return HTMLResponse(text, status_code=status, headers=HEADERS)

    def part(self, template: str, *, status: int = 200, **content: Any) -> Response:
        """A part of a page, for a script that puts it into its place."""
        return HTMLResponse(
            self._templates.get_template(template).render(**content), status_code=status, headers=HEADERS
        )


def _more(surveys: object) -> tuple[tuple[str, str], ...]:
    return (("Surveys", "/surveys"),) if surveys else ()


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def _whole(amount: object) -> str:
    """An amount whose name and number no line end parts."""
    return str(amount).replace(" = ", "\u00a0=\u00a0")


def _about(number: float) -> str:
    """A number to four digits, written out: 11,980, and not 1.198e+04."""
    return f"{float(f'{number:.4g}'):,.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:,.4g}"


def _share(value: float) -> str:
    """A share of a width, as SVG wants it."""
    return f"{100 * min(max(value, 0.0), 1.0):.3f}%" if math.isfinite(value) else "0%"
