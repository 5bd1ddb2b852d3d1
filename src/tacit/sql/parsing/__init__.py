"""The text of a question, read: tokens, clauses, the price before it."""
