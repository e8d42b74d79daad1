"""SLOs without priorities: predict, plan, provision, and classes from logs."""

from fctlab.slo.fitted import Burstiness, Family, Fit, FittedClass, Gaps, SizeTable, Tail
from fctlab.slo.types import (
    Capacity,
    ClassLoad,
    ClassPrediction,
    Compared,
    Cost,
    Load,
    OffForecast,
    Plan,
    Prediction,
    Provision,
    Search,
    Sli,
    Target,
    Weighting,
)

__all__ = [
    "Burstiness",
    "Capacity",
    "ClassLoad",
    "ClassPrediction",
    "Compared",
    "Cost",
    "Family",
    "Fit",
    "FittedClass",
    "Gaps",
    "Load",
    "OffForecast",
    "Plan",
    "Prediction",
    "Provision",
    "Search",
    "SizeTable",
    "Sli",
    "Tail",
    "Target",
    "Weighting",
]
