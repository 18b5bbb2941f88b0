"""Training, tested on networks of a few hundred numbers."""
