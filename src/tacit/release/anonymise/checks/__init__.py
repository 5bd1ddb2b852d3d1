"""What can be said of a published table: whether it keeps its word, who could be found, what it cost."""
