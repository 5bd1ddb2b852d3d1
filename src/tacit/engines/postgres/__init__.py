"""PostgreSQL as an engine: its settings, its tables and its types."""
