"""What is typed in a policy: names, types and values, on which line each stands, and what is wrong with it."""
