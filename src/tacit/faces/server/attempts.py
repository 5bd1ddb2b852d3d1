"""How often somebody may try to prove who they are: counted by address and by name."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.errors import Overloaded
from tacit.faces.survey.senders import Senders
from tacit.policy.reading.names import fold

BY_ADDRESS, BY_NAME = 600, 120  # an hour


@dataclass(frozen=True, slots=True)
class Attempts:
    """Those of the last hour, of names that have an account and of those that have none."""

    by_address: Senders = field(default_factory=lambda: Senders(BY_ADDRESS))
    by_name: Senders = field(default_factory=lambda: Senders(BY_NAME))

    def check(self, address: str, name: str) -> None:
        """Raise Overloaded where there were too many, before anything is looked up."""
        _refuse(max(self.by_address.waiting(address), self.by_name.waiting(_named(name))))

    def failed(self, address: str, name: str) -> None:
        """Count an attempt that failed, for its address and for its name."""
        self.by_address.wait(address)
        self.by_name.wait(_named(name))

    def count(self, address: str, name: str) -> None:
        """One more, whether it fails or not, as in a form. Raises Overloaded where there were too many."""
        _refuse(max(self.by_address.wait(address), self.by_name.wait(_named(name))))


def _refuse(wait: int) -> None:
    if wait:
        raise Overloaded(f"too many attempts: wait {wait:,} seconds", hint="who forgot a password asks the curator")


def _named(name: str) -> str:
    return f"name {fold(name[:256])}"
