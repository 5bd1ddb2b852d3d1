"""What is said of a job: before it is asked, and beside its answer."""
