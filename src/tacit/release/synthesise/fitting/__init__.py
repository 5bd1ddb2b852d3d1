"""Models fitted to noisy marginals: how they are measured, estimated, fitted and drawn from."""
