"""The ledger in PostgreSQL: for many hosts on one budget."""
