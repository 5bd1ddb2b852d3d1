"""Means and distributions of a number: one protocol in each file."""
