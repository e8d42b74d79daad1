"""SLOs without priorities: predict, plan, provision, and classes from logs."""

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
    "Capacity",
    "ClassLoad",
    "ClassPrediction",
    "Compared",
    "Cost",
    "Load",
    "OffForecast",
    "Plan",
    "Prediction",
    "Provision",
    "Search",
    "Sli",
    "Target",
    "Weighting",
]
