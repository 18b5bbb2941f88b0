"""Which sentences of passages are told."""
