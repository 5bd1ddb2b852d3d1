"""Texts of rows: functions of them, patterns that they match, and what is computed of them publicly."""
