"""Documents on disk: the text is the truth, indexes are derived from it."""
