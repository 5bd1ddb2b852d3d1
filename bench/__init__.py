"""Measurements of speed and of timing leaks, beside peers, in one run. They report; they never fail a build."""
