"""tacit: the trusted curator in front of a database."""
