"""Trees into the SQL of each engine."""
