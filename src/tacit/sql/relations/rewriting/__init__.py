"""Forms of SQL, written anew in the few that are bound: what each means is said by SQL alone."""
