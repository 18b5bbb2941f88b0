"""Training: one loop (`loop.fit`), one file a task."""
