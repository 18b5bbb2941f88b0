"""Whether a written sentence is well formed."""
