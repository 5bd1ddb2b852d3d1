"""The owner's acts by their short name: draft, check, calibrate, verify."""

from tacit.faces.owner import *  # noqa: F403 - what it says is public
from tacit.faces.owner import __all__  # noqa: F401
