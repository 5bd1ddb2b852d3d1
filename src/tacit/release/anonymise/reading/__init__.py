"""A table on its way in: from wherever it lies to distinct tuples and whose they are."""
