"""How much noise a price allows, and what noise costs: never optimistic."""
