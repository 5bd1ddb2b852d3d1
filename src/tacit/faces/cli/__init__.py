"""The command line, `tacit`: a file for each family of commands, and `main`, where all of them start and end."""
