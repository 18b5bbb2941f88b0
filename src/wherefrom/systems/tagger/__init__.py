"""Parts of speech and entities, as spaCy says them, by a network of 3 MB."""
