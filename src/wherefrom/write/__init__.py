"""The answer is written."""
