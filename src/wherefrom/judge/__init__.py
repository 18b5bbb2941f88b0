"""The chance that the library answers a question."""
