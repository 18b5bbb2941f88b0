"""Passages are found for questions."""
