"""A question whose every name is known: its keys, its measures, what is made of them."""
