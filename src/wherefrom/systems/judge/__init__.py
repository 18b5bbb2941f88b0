"""The judge: the chance that a reader's answer is right."""
