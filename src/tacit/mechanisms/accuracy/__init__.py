"""How far noise strays, rounded outward."""
