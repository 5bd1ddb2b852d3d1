"""Exact numbers in, noisy numbers out, and how far bounds moved them."""
