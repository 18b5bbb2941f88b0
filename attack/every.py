"""All campaigns, in the order in which they run."""

from __future__ import annotations

from attack.coverage import COVERAGE
from attack.damage import DAMAGE
from attack.fuzz import FUZZ
from attack.guard import GUARD
from attack.kills import KILLS
from attack.load import LOAD
from attack.pages import PAGES
from attack.requests import ODD_REQUESTS
from attack.shared import SHARED
from attack.soak import SOAK

CAMPAIGNS = (KILLS, SHARED, FUZZ, COVERAGE, DAMAGE, ODD_REQUESTS, GUARD, PAGES, LOAD, SOAK)
