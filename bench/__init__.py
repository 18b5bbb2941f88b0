"""Speed, memory and retrieval quality, measured beside other search systems."""
