"""Models that tell classes apart, from sums and histograms."""
