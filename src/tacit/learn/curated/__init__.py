"""Models of tables behind a curator: planned, charged, added up by the engine."""
