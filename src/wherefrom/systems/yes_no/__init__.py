"""Yes or No: what the deciding words say."""
