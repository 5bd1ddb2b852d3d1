"""Publish a table: the classical way (`anonymise`), and later with a guarantee."""
