"""`tacit demo`: two databases of a million rows, textbook questions, two attacks, and a report with pictures."""
