"""The gate of every page: the Host, who is signed in, what is theirs, whether a form is ours, how errors look."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.errors import AccessDenied, InvalidParameter, TacitError
from tacit.faces.log_file import log
from tacit.faces.server.accounts import Role
from tacit.faces.server.attempts import Attempts
from tacit.faces.server.console.given_answers import GivenAnswers
from tacit.faces.server.console.pages import HEADERS, PageMaker, static_files
from tacit.faces.server.console.visitors import Sessions, Visitor
from tacit.faces.server.http import gate
from tacit.faces.server.http.replies import STATUSES
from tacit.faces.server.serving import Hub
from tacit.faces.survey.sites import SurveySites

COOKIE = "tacit_session"
PART = "x-tacit-part"  # a script asks for a part of a page, not for the whole
_FIELDS = 40  # of one form


class NotSignedIn(AccessDenied):
    """Somebody whom no session names."""


@dataclass(frozen=True, slots=True)
class Console:
    """What the pages share."""

    hub: Hub
    pages: PageMaker = field(default_factory=lambda: PageMaker(static=static_files()))
    sessions: Sessions = field(default_factory=Sessions)
    answers: GivenAnswers = field(default_factory=GivenAnswers)
    rates: gate.RateLimit = field(default_factory=gate.RateLimit)
    attempts: Attempts = field(default_factory=Attempts)
    surveys: SurveySites = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "surveys", SurveySites(is_for_us=self._is_for_us))

    def _is_for_us(self, request: Request) -> bool:
        try:
            gate.check_host(request, self.hub)
        except TacitError:
            return False
        return True

    def visitor(self, request: Request) -> Visitor | None:
        """Who is signed in."""
        cookie = session_cookie(request)
        return self.sessions.find(cookie, self.hub.accounts) if cookie else None

    def page(self, template: str, *, visitor: Visitor | None = None, status: int = 200, **content: object) -> Response:
        """A page, with what stands on all of them."""
        policy = self.hub.policy
        content["surveys_nav"] = bool(policy.server.surveys)
        return self.pages.page(template, visitor=visitor, dataset=policy.dataset.name, status=status, **content)


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of somebody who is signed in; `form` is what they sent, if they sent something."""

    request: Request
    visitor: Visitor
    form: Mapping[str, str]

    def text(self, name: str) -> str:
        """A field of the form; an empty text where there is none."""
        return self.form.get(name, "").replace("\r\n", "\n")


PageHandler = Callable[[Console, Visit], Awaitable[Response]]


def page_route(path: str, console: Console, act: PageHandler, *, post: bool = False, role: Role | None = None) -> Route:
    """A page for those who are signed in; `role` is whose it is, if it is not everybody's."""

    async def handle(request: Request) -> Response:
        visitor = console.visitor(request)
        if visitor is None:
            raise NotSignedIn("nobody is signed in here", hint="sign in")
        if role is not None and visitor.role != role:
            raise gate.Forbidden(f"this page is the {role}'s", hint="sign in with another account")
        console.rates.check(visitor.name, console.hub.policy.server.rate)
        if not visitor.is_curator:
            await gate.named(console.hub, visitor.name)
        form = await read_form(request, console) if post else {}
        return await act(console, Visit(request, visitor, form))

    return Route(path, guarded(console, handle), methods=["POST" if post else "GET"])


def guarded(console: Console, handle: Callable[[Request], Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    """The handler behind the Host check, with its errors told in the words that every door has."""

    async def inner(request: Request) -> Response:
        try:
            gate.check_host(request, console.hub)
            return await handle(request)
        except NotSignedIn as error:
            if request.method == "GET" and PART not in request.headers:
                return to_sign_in(request)
            return trouble(console, request, error, status=401)
        except TacitError as error:
            return trouble(console, request, error, status=status_of(error))
        except HTTPException:
            raise
        except Exception as error:  # whatever it is, it may hold cells
            log.error("%s: %s", type(error).__name__, error, exc_info=error)
            told = TacitError("something went wrong inside tacit", hint="the curator's log says what")
            return trouble(console, request, told, status=500)

    return inner


def trouble(console: Console, request: Request, error: TacitError, *, status: int) -> Response:
    """What went wrong: a page of its own, or a part of one."""
    if PART in request.headers:
        return console.pages.part("_refusal.html", status=status, error=error)
    visitor = console.visitor(request)
    return console.page("error.html", visitor=visitor, status=status, error=error, code=status)


def status_of(error: TacitError) -> int:
    """The HTTP status of an error, as the API has it."""
    if isinstance(error, gate.TooLarge):
        return 413
    if isinstance(error, gate.Forbidden):
        return 403
    return next((number for kind, number in STATUSES if isinstance(error, kind)), 500)


async def read_form(request: Request, console: Console) -> Mapping[str, str]:
    """The fields of a form of ours. Raises Forbidden where another page may have sent it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise InvalidParameter("what was sent is no form of this console")
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise gate.Forbidden("the form comes from another site: nothing was done")
    content = await gate.read_body(request)
    try:
        text = content.decode("utf-8")
        fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_FIELDS, strict_parsing=bool(text)))
    except ValueError:  # not UTF-8, or no form
        raise InvalidParameter("what was sent is no form of this console") from None
    if not console.sessions.accepts(session_cookie(request), fields.get("csrf", "")):
        raise gate.Forbidden(
            "the form is not one of this session: nothing was done", hint="load the page again, and send it once more"
        )
    return fields


def session_cookie(request: Request) -> str:
    """The cookie that names a session; over TLS by a name that no other host can set."""
    return request.cookies.get(f"__Host-{COOKIE}") or request.cookies.get(COOKIE) or ""


def set_cookie(reply: Response, request: Request, cookie: str) -> None:
    """Name the session in the browser: for this host alone, out of reach of scripts and of other sites."""
    by_proxy = request.headers.get("origin", "").startswith("https://")  # what the browser sees is TLS
    secure = request.url.scheme == "https" or by_proxy
    name = f"__Host-{COOKIE}" if secure else COOKIE
    reply.set_cookie(name, cookie, path="/", httponly=True, secure=secure, samesite="strict")


def drop_cookies(reply: Response) -> None:
    """Forget it there, by both of its names."""
    for name, secure in ((COOKIE, False), (f"__Host-{COOKIE}", True)):
        reply.delete_cookie(name, path="/", httponly=True, secure=secure, samesite="strict")


def to_sign_in(request: Request) -> Response:
    """To the page where one signs in, and from there back."""
    return moved(f"/signin?next={request.url.path}")


def moved(path: str) -> Response:
    """To another page of ours, to be got."""
    return RedirectResponse(path, status_code=303, headers=HEADERS)
