"""Models that predict nothing: clusters and components."""
