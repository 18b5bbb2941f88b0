"""Pipelines are run over datasets, scored against gold, and reported."""
