"""The chance that an answer is right."""
