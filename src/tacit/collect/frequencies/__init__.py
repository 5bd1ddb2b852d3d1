"""How often each value of a listed domain was meant: one protocol in each file."""
