"""The writer: answers word by word, each with its source."""
