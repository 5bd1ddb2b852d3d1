"""Statements as PostgreSQL writes them: split, told apart, and spelled as the curator reads them."""
