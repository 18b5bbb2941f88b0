"""What every implementation of a stage promises, one class a protocol.

Subscribe by subclassing: `class TestMyIndex(IndexContract)` with a fixture that makes one.
"""
