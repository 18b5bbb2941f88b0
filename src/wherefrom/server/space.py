"""What is said where the disk of a server is full: what is then waiting is kept, and tried again."""

from __future__ import annotations

FULL = "the disk of the server is full; nothing is lost, and it goes on once there is room"
