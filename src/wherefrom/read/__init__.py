"""Candidate answers are read out of passages."""
