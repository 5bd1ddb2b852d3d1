"""How the classes of a table are found: a method makes a partition of its tuples that keeps every rule."""
