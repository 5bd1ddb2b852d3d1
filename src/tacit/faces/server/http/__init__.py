"""The HTTP API: versioned JSON, one table of routes, one error shape."""
