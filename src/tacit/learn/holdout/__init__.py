"""Rows that are held back, and can be asked again and again."""
