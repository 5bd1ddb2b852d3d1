"""What stands in a query: columns, constants, arithmetic on grids, conditions; and the names we give."""
