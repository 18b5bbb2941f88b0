"""The reader: which passage answers, and which of its words."""
