"""Summaries of many passages around a question."""
