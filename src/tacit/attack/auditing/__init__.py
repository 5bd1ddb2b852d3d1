"""The auditor: a lower bound on the real epsilon of whatever can be run on two neighbours."""
