"""Surveys by their short name: ask people who need trust nobody, and estimate from their reports."""

from tacit.faces.survey import *  # noqa: F403 - what it says is public
from tacit.faces.survey import __all__  # noqa: F401
