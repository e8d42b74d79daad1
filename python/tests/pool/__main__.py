"""Writes the pool anew."""

import json

from tests.pool import FILE, SEEDS, ratios

FILE.write_text(json.dumps(ratios(SEEDS)) + "\n")
