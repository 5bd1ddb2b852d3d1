"""The settings of a connection: SET, SHOW and RESET, and what a client is told of them without asking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from tacit.core import decimal_text, positive
from tacit.errors import InvalidParameter
from tacit.faces.server.wire.faults import WireFault
from tacit.faces.server.wire.hints import HINTS
from tacit.faces.server.wire.spans import seconds, spelled

VERSION = "14.20"
VERSION_NUMBER = "140020"
# names that clients are told of at the start and whenever they change
REPORTED = {
    "server_version": VERSION,
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "default_transaction_read_only": "on",
    "in_hot_standby": "off",
    "is_superuser": "off",
    "session_authorization": "",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
}
_QUIET = {
    "server_version_num": VERSION_NUMBER,
    "bytea_output": "hex",
    "client_min_messages": "notice",
    "default_transaction_deferrable": "off",
    "default_transaction_isolation": "read committed",
    "enable_seqscan": "on",
    "extra_float_digits": "1",
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",
    "jit": "off",
    "lc_collate": "C",
    "lc_ctype": "C",
    "lc_messages": "C",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "lock_timeout": "0",
    "max_identifier_length": "63",
    "row_security": "on",
    "search_path": "public",
    "statement_timeout": "0",
    "synchronize_seqscans": "on",
    "transaction_deferrable": "off",
    "transaction_isolation": "read committed",
    "transaction_read_only": "on",
    "transaction_timeout": "0",
    "max_index_keys": "32",
    "tacit.epsilon": "",
    "tacit.cap": "",
    "tacit.errors": "off",
}
_FIXED = {"server_version", "server_version_num", "server_encoding", "is_superuser", "session_authorization"}
_FIXED |= {"integer_datetimes", "in_hot_standby", "max_identifier_length", "max_index_keys", "lc_collate", "lc_ctype"}
_TRUTHS = {"on": "on", "true": "on", "yes": "on", "1": "on", "t": "on"}
_TRUTHS |= {"off": "off", "false": "off", "no": "off", "0": "off", "f": "off"}
FORWARDED = {"search_path", "tacit.epsilon", "tacit.cap", "tacit.errors"}  # what the catalogue answers by, or is asked
_LONGEST = 1_000
_SPANS = {"statement_timeout", "lock_timeout", "transaction_timeout"}
_SPANS |= {"idle_session_timeout", "idle_in_transaction_session_timeout"}


@dataclass(slots=True)
class Settings:
    """One connection's settings, by their names in small letters."""

    cap: Fraction  # what plain SELECTs of one connection may cost together, unless it says otherwise
    user: str = ""
    values: dict[str, str] = field(default_factory=dict)
    started: dict[str, str] = field(default_factory=dict)  # what the start-up packet asked for: RESET returns to it
    idle: float = 0  # seconds that a connection may be idle at most, whatever it says; 0: any time

    def known(self, name: str) -> str:
        """A setting's name as it is reported. Raises WireFault for one that is none."""
        known = _NAMES.get(name.lower())
        if known is None:
            raise _unknown(name)
        return known

    def get(self, name: str) -> str:
        """The value of a setting. Raises WireFault for a name that is none."""
        known = self.known(name)
        if known == "session_authorization":
            return self.user
        default = decimal_text(self.cap) if known == "tacit.cap" else _DEFAULTS[known]
        default = spelled(self.idle) if known == "idle_session_timeout" else default
        return self.values.get(known, self.started.get(known, default))

    def set(self, name: str, value: str | None) -> str:
        """Change a setting, or with None go back to how it began; returns its name as it is reported."""
        known = self.known(name)
        if value is None:
            self.values.pop(known, None)
        elif known in _FIXED and value != self.get(known):
            raise WireFault("55P02", f'parameter "{known}" cannot be changed')
        else:
            self.values[known] = _checked(known, value)
        return known

    def all(self) -> Iterator[tuple[str, str]]:
        """Every setting with its value, by name."""
        for name in sorted(_DEFAULTS, key=str.lower):
            yield name, self.get(name)

    @property
    def epsilon(self) -> Fraction | None:
        """What a plain SELECT costs; None: it is refused."""
        value = self.get("tacit.epsilon")
        return positive(value, "tacit.epsilon") if value else None

    @property
    def most(self) -> Fraction:
        """What plain SELECTs of this connection may cost together."""
        return positive(self.get("tacit.cap"), "tacit.cap")

    @property
    def statement_timeout(self) -> float | None:
        """The seconds that a question may be waited for; None: any time."""
        return seconds(self.get("statement_timeout")) or None

    def patience(self, *, in_block: bool) -> float | None:
        """The seconds that the connection may be idle, in a transaction block or outside; None: any time."""
        names = ("idle_session_timeout", "idle_in_transaction_session_timeout")[: 1 + in_block]
        spans = [self.idle, *(seconds(self.get(name)) for name in names)]
        return min((span for span in spans if span), default=None)

    @property
    def errors(self) -> bool:
        """Whether noisy columns are followed by the ends of their intervals."""
        return self.get("tacit.errors") == "on"

    @property
    def notices(self) -> bool:
        """Whether the client wants to be told."""
        return self.get("client_min_messages").lower() not in {"warning", "error", "fatal", "panic"}


_DEFAULTS = HINTS | REPORTED | _QUIET
_NAMES = {name.lower(): name for name in _DEFAULTS} | {"timezone": "TimeZone", "time zone": "TimeZone"}


def _unknown(name: str) -> WireFault:
    return WireFault("42704", f'unrecognized configuration parameter "{name[:60]}"')


def _checked(name: str, value: str) -> str:
    """The value as it is kept. Raises WireFault where it is none."""
    if len(value) > _LONGEST:
        raise _invalid(name, value)
    if name == "tacit.cap" or (name == "tacit.epsilon" and value):  # no epsilon: plain SELECTs are refused
        return _price(name, value)
    if name in _SPANS:
        return _span(name, value)
    if name in {"tacit.errors", "default_transaction_read_only", "standard_conforming_strings"}:
        truth = _TRUTHS.get(value.lower())
        if truth is None or (name == "standard_conforming_strings" and truth == "off"):
            raise _invalid(name, value)
        return truth
    if name == "client_encoding":
        if value.strip("'\" ").lower().replace("-", "").replace("_", "") not in {"utf8", "unicode", "utf8mb4"}:
            raise WireFault("22023", f"the encoding {value[:40]} is not spoken here", hint="UTF8 is")
        return "UTF8"
    if name == "DateStyle":
        if not value.strip("'\" ").lower().startswith("iso"):
            raise WireFault("22023", f"the date style {value[:40]} is not spoken here", hint="ISO is")
        return "ISO, MDY"
    return value


def _span(name: str, value: str) -> str:
    try:
        return spelled(seconds(value))
    except ValueError:
        raise _invalid(name, value) from None


def _price(name: str, value: str) -> str:
    try:
        text = decimal_text(positive(value, name))
        positive(text, name)  # what is kept must be read again, with every question
    except InvalidParameter as error:
        raise WireFault("22023", error.message, hint=f"SET {name} = 0.5") from None
    return text


def _invalid(name: str, value: str) -> WireFault:
    return WireFault("22023", f'invalid value for parameter "{name}": "{value[:60]}"')
