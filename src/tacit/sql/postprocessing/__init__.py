"""What stands over the aggregates: taken off the questions, and written anew over their released rows."""
