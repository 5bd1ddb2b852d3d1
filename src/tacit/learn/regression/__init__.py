"""Models that predict a number."""
