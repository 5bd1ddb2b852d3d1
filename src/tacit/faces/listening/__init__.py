"""How the doors take connections: who waits where, for how long, and who is cut off."""
