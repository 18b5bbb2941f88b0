"""A network that asks questions, so that readers have more to learn from."""
