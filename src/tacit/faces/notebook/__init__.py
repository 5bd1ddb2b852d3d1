"""Notebooks: `%load_ext tacit`, then `%tacit` opens a door and `%%tacit` asks."""
