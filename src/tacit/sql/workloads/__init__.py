"""Several questions as one workload over cells."""
