"""The doors of `tacit serve`: one curator, asked over networks."""
