"""All campaigns, in the order in which they run."""

from __future__ import annotations

from attack.damage import DAMAGE
from attack.fuzz import FUZZ
from attack.kills import KILLS
from attack.load import LOAD

CAMPAIGNS = (KILLS, FUZZ, DAMAGE, LOAD)
