"""What is computed from answers, free of charge: tables of released rows, and the errors of what is made of them."""
