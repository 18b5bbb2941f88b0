"""Masque, PREAST-QA and style transfer, as published."""
