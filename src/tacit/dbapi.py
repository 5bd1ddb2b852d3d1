"""Python's interface to databases (PEP 249) by its short name."""

from tacit.faces.dbapi import *  # noqa: F403 - what it says is public
from tacit.faces.dbapi import __all__  # noqa: F401
