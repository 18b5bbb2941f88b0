"""Trains the vectors by which passages are found whose words mean what those of the question do."""
