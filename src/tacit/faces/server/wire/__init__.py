"""The PostgreSQL wire: analysts' own tools ask the curator, in the protocol that all of them speak."""
