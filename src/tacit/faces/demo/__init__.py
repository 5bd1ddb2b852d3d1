"""`tacit demo`: the lectures' databases at a million rows, their questions, two attacks, and a report with pictures."""
