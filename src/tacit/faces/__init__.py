"""The doors: Python, the command line, the shell, the demonstration. What they share is in the files beside them."""
