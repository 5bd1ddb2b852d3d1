"""The same questions asked of other systems, each in an environment of its own: `python -m bench.peers`."""
