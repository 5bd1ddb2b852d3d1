"""What the curator says of tables and their columns: units, owners, bounds, grids, domains."""
