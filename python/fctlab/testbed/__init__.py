"""The flows of a scenario through Linux: its TCP, its queues, its tagger, in namespaces."""

from fctlab.testbed.running import PLACES, Ran, lacks, replay, run

__all__ = ["PLACES", "Ran", "lacks", "replay", "run"]
