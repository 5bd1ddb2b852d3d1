"""The Python door to a server elsewhere: the same methods, over the HTTP API."""
