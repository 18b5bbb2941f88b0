"""One file a system, each of which runs in the environment that has that system alone."""
