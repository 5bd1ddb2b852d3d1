"""What people see of an anonymised table: on the screen, and as a page with pictures."""
