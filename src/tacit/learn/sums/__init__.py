"""What models are learned from: columns as whole numbers, and their sums, by arrays and by engines."""
