"""Numbers for schemes: thresholds that are solved, mappings that are learned."""

from fctlab.tuning.types import Mapping, Thresholds

__all__ = ["Mapping", "Thresholds"]
