"""What people see of an attack on their data: on the screen, and as a page with pictures."""
