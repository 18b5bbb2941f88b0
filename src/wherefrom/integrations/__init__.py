"""Retrievers over a library for other people's frameworks, which each module needs and no extra of ours brings."""
