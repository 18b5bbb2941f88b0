"""wherefrom and its peers at the same work: one runner, one machine, one table."""
