"""Requests to a server over HTTP: encrypted, the certificate checked, every failure an error of ours."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import json
import socket
import ssl
from collections import deque
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import tacit.errors as error_tree
from tacit.errors import AccessDenied, EngineError, InvalidParameter, ServerUnreachable, TacitError

LONGEST = 256_000_000  # bytes of a reply
_KINDS = {"forbidden": AccessDenied, "too_large": InvalidParameter}


class HttpTransport:
    """A server's address and a token. Connections are kept, and taken by one request at a time: safe for threads."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        ca: Path | str | None = None,
        fingerprint: str | None = None,
        timeout: float | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.username is not None or parts.query or parts.fragment or not parts.hostname:
            raise InvalidParameter("the address is not that of a server", hint="https://dp.example.org:8080")
        self.host, self._prefix = parts.hostname, parts.path.rstrip("/")
        self._port = _port(parts.port, parts.scheme)
        if parts.scheme == "http" and not _is_near(self.host):
            raise InvalidParameter(
                "http:// to another machine would tell everybody on the way the token", hint="use https://"
            )
        self._fingerprint = None if fingerprint is None else _digest(fingerprint)
        self._tls = None if parts.scheme == "http" else _context(ca, pinned=self._fingerprint is not None)
        if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token:
            raise InvalidParameter("the token is not one", hint="tacit analyst token NAME makes one")
        self._token, self._timeout = token, timeout
        self._idle: deque[http.client.HTTPConnection] = deque()

    def __repr__(self) -> str:
        return f"<a server at {self.host}:{self._port}>"

    def get(self, path: str) -> dict[str, Any]:
        """The object behind a path."""
        return self._request("GET", path, None, {})

    def post(self, path: str, body: str, *, key: str | None = None) -> dict[str, Any]:
        """The reply to a body; with a key it may be sent twice, and is answered once."""
        headers = {"content-type": "application/json"} | ({} if key is None else {"idempotency-key": key})
        return self._request("POST", path, body.encode(), headers)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        while self._idle:
            self._idle.pop().close()

    def _request(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> dict[str, Any]:
        """Once more where a connection turns out to be gone; a question has a key, and is charged once."""
        headers = {"authorization": f"Bearer {self._token}", **headers}
        for last in (False, True):
            connection = self._idle.pop() if self._idle and not last else self._connect()
            try:
                connection.request(method, self._prefix + path, body=body, headers=headers)
                reply = connection.getresponse()
                content = reply.read(LONGEST + 1)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if last or isinstance(error, TimeoutError):
                    raise _lost(error, asked=body is not None) from None
                continue
            if reply.will_close or len(content) > LONGEST:
                connection.close()
            else:
                self._idle.append(connection)
            return _told(reply.status, content)
        raise AssertionError("unreachable")

    def _connect(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection
        if self._tls is None:
            connection = http.client.HTTPConnection(self.host, self._port, timeout=self._timeout)
        else:
            connection = http.client.HTTPSConnection(self.host, self._port, timeout=self._timeout, context=self._tls)
        try:
            connection.connect()
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._check_fingerprint(connection)
        except ssl.SSLCertVerificationError as error:
            connection.close()
            raise AccessDenied(
                f"the certificate of {self.host} is not trusted: {error.verify_message}",
                hint="give ca= the file of a certificate, or fingerprint= what the server prints when it starts",
            ) from None
        except ssl.SSLError:
            connection.close()
            raise ServerUnreachable(
                f"{self.host}:{self._port} cannot be reached: it does not speak TLS as this machine does",
                hint="a server on this machine alone is reached by http://; is the port that of HTTP?",
            ) from None
        except OSError as error:
            connection.close()
            raise ServerUnreachable(
                f"{self.host}:{self._port} cannot be reached: {error.strerror or type(error).__name__}",
                hint="is tacit serve running there?",
            ) from None
        return connection

    def _check_fingerprint(self, connection: http.client.HTTPConnection) -> None:
        """Before anything is sent: the token is for one server alone."""
        if self._fingerprint is None:
            return
        shown = connection.sock.getpeercert(binary_form=True) if isinstance(connection.sock, ssl.SSLSocket) else None
        if shown is None or not hmac.compare_digest(hashlib.sha256(shown).hexdigest(), self._fingerprint):
            connection.close()
            raise AccessDenied(
                f"the certificate of {self.host} has another fingerprint: somebody may stand in between",
                hint="compare it with what tacit serve prints when it starts",
            )


def _told(status: int, content: bytes) -> dict[str, Any]:
    """The reply's object. Raises the error that the server tells of."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise ServerUnreachable(f"what answers there is no tacit server: HTTP {status}", hint="check the address")
    if status == 200:
        return body
    told = body.get("error")
    told = told if isinstance(told, dict) else {}
    message, hint = str(told.get("message", f"HTTP {status}")), str(told.get("hint", ""))
    raise kind_of(str(told.get("code", "")))(message, hint=hint)


def kind_of(code: str) -> type[TacitError]:
    """The error that a code stands for: QueryRefused for `query_refused`; EngineError where nothing is known of it."""
    name = "".join(part.capitalize() for part in code.split("_"))
    kind = getattr(error_tree, name, None)
    if isinstance(kind, type) and issubclass(kind, TacitError):
        return kind
    return _KINDS.get(code, EngineError)


def _lost(error: Exception, *, asked: bool) -> ServerUnreachable:
    why = "it took too long" if isinstance(error, TimeoutError) else "the connection broke"
    return ServerUnreachable(
        f"no answer came: {why}" + ("; whether anything was charged is not known" if asked else ""),
        hint="db.log shows what was charged; the same request_id gives the answer already paid for",
    )


def _context(ca: Path | str | None, *, pinned: bool) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=None if ca is None else str(ca))
    except (OSError, ssl.SSLError):
        raise InvalidParameter(f"{Path(str(ca)).name} is not a certificate (PEM)", hint="see ca=") from None
    if pinned:  # it is compared as a whole, and need not be signed by anybody
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _digest(text: str) -> str:
    plain = text.lower().removeprefix("sha256:").replace(":", "").strip()
    if len(plain) != 64 or any(letter not in "0123456789abcdef" for letter in plain):
        raise InvalidParameter("the fingerprint is not that of a certificate", hint="it begins with sha256:")
    return plain


def _port(port: int | None, scheme: str) -> int:
    return port if port is not None else {"https": 443, "http": 80}[scheme]


def _is_near(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
