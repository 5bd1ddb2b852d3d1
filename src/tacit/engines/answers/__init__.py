"""What is computed from answers: a process of its own, and who runs it."""
