"""Numbers on their way through SQL: arithmetic wide enough for what it may hold, grids, doubles, functions and bins."""
