"""A table on its way out: classes joined back to rows, and what stands beside them."""
