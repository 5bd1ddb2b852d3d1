"""Spark as an engine, by Spark Connect: its client and its tables."""
