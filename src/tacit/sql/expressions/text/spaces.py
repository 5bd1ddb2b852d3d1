"""The characters that TRIM takes off: those that DuckDB takes for spaces, told to every other engine."""

SPACES = " \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"
