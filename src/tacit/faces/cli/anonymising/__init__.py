"""`tacit anonymise` and `tacit anonymise check`."""
