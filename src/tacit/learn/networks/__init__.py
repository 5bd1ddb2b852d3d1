"""Neural networks, trained by noisy gradients."""
