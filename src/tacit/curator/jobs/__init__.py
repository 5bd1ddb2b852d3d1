"""What is charged at once: jobs and their pieces, planned and priced. Touches no data."""
