"""Trained networks at run time: ONNX sessions, without torch."""
