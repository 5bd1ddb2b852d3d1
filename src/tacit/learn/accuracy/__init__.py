"""Accuracy first: how good a model must be is said, and its price follows."""
