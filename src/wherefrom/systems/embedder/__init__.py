"""Trains what gives questions and passages vectors that are near where one answers the other."""
