"""Found passages are put into a better order."""
