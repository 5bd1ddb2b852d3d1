"""Questions in SQL that synthetic rows answer."""
