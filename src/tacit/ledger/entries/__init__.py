"""The entries, each sealed with the one before, and what is added up from them."""
