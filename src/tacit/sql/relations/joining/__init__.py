"""Tables side by side: whose their joined rows are, and how many one row can become."""
