"""Answers used again, and new ones from old: free of charge."""
