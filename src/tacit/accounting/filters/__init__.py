"""Filters: budgets that refuse the event which would exceed them, whoever chooses it and however."""
