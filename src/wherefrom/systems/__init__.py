"""What is trained here: one folder a system, none knowing another but by its weights or its material."""
