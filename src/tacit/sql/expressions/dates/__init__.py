"""Dates and timestamps of rows: read, moved, taken apart, written as text, and as keys."""
