"""All campaigns, in the order in which they run."""

from __future__ import annotations

from attack.damage import DAMAGE
from attack.fuzz import FUZZ
from attack.kills import KILLS

CAMPAIGNS = (KILLS, FUZZ, DAMAGE)
