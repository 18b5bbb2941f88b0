"""Pure functions of a question and a text."""
