"""What things are called: in the query, in generated SQL, in messages, and in other databases."""
