"""What will run and be paid: bounds, noise, statements, the errors to expect."""
