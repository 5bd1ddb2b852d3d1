"""The privacy models, what they measure in a class, and the distances that they measure by."""
