"""Answers from real documents: collections made of packages, and questions that people would ask of them."""
