"""Tests of hypotheses, with p-values that know of the noise, and many of them at once."""
