"""Follow-up questions of our own: how they are understood, and what is answered."""
