"""What can go wrong in training, said in the user's words.

WherefromError
└── TrainingError           training cannot begin or go on
    ├── Diverged            the loss or its gradient is no longer a number
    └── CheckpointUnusable  the folder's checkpoint cannot be read, or belongs to another training

Every message names the thing and the remedy.
"""

from __future__ import annotations

from wherefrom.errors import WherefromError


class TrainingError(WherefromError):
    """Training cannot begin or go on."""


class Diverged(TrainingError):
    """The loss or its gradient is no longer a number."""


class CheckpointUnusable(TrainingError):
    """The folder's checkpoint cannot be read, or belongs to another training."""
