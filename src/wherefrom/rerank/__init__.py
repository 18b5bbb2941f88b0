"""Candidate answers are put into a better order."""
