"""`tacit shell`: one question after another."""
