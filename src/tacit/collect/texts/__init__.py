"""Texts of a domain that nobody can list: Bloom filters, sketches and prefixes."""
