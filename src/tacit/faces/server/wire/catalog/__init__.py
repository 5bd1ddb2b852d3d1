"""Who answers what clients ask of the catalogue: a twin of the public schema, or a few fixed answers."""
