"""Subqueries as rows: each of one unit, with what is publicly known of its columns."""
