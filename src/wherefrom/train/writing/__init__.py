"""What networks that write are trained with: material, microbatches, vocabulary and the task; knows no system."""
