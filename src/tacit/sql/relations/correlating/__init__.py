"""Subqueries in conditions: what of them looks at the row around them."""
