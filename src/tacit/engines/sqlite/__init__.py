"""SQLite as an engine: its tables, and the columns that it computes."""
