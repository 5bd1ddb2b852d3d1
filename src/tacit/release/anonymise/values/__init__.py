"""Values in whole numbers, and how they are made coarser: columns, grids, hierarchies, distinct tuples."""
