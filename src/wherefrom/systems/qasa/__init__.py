"""QASA (Nguyen 2019): passages ranked by an encoding that knows the question."""
