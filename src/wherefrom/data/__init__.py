"""Datasets: published files in, `Example` values out; nothing that answers questions imports this."""
