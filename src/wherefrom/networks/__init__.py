"""The networks, as torch modules: for training only, since serving needs no torch."""
