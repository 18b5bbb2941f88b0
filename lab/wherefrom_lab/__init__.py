"""The laboratory's weights, papers' tables and labels: wherefrom finds them here, nothing is to be imported."""
