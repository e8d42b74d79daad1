"""fctlab: a laboratory for datacenter flow scheduling.

>>> import fctlab
>>> result = fctlab.run("scenarios/websearch-leafspine.toml")
>>> result.summary, result.flows, result.plot_fct_cdf()
>>> fctlab.compare("scenarios/websearch-leafspine.toml", ["dctcp", "pfabric"], seeds=5).summary
>>> fctlab.planning.predict("scenarios/slo-two-classes.toml")
>>> fctlab.fit("flows.csv")
"""

import json
from os import PathLike
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from fctlab import _native
from fctlab._native import Progress
from fctlab.errors import InternalError, OutputError, SpecError, SpecWarning
from fctlab.results import kinds
from fctlab.results.comparison import Cell, Comparison, compare
from fctlab.results.result import Result, run
from fctlab.scenario import Scenario, load_scenario, of_environment
from fctlab.tuning.mapping import compute_mapping, save_mapping
from fctlab.tuning.types import Mapping

if TYPE_CHECKING:
    from fctlab.slo import planning
    from fctlab.slo.fit import fit

__version__: str = _native.version()

__all__ = [
    "Cell",
    "Comparison",
    "InternalError",
    "Mapping",
    "OutputError",
    "Progress",
    "Result",
    "Scenario",
    "SpecError",
    "SpecWarning",
    "__version__",
    "catalog",
    "compare",
    "compute_mapping",
    "fit",
    "load",
    "load_scenario",
    "planning",
    "run",
    "save_mapping",
    "schema",
]


_LATER = {"planning": "fctlab.slo.planning", "fit": "fctlab.slo.fit:fit"}
"""What is imported when it is first asked for: most programs do without."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'fctlab' has no attribute {name!r}")
    value = globals()[name] = resolve_name(_LATER[name])
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


def load(directory: str | PathLike[str]) -> Result | Comparison:
    """Read a saved result: of one run, or of a comparison.

    Raises:
        SpecError: the directory holds neither, or not a whole one.
    """
    comparison = kinds.kind_of(Path(directory)) is kinds.COMPARISON
    return Comparison.load(directory) if comparison else Result.load(directory)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario as people write it."""
    value: dict[str, Any] = json.loads(_native.schema())
    return value


def catalog(presets: str | PathLike[str] | None = None) -> dict[str, list[dict[str, str]]]:
    """Return every scheme, workload, topology, transport, ... there is.

    Args:
        presets: a directory of presets of your own, beside those of the environment.

    Returns:
        Place of the architecture -> its parts, each ``{"name", "description"}``.

    Raises:
        SpecError: the first mistake in a preset, with its file and line.
    """
    own = [*of_environment(), *(() if presets is None else (str(presets),))]
    value: dict[str, list[dict[str, str]]] = json.loads(_native.catalog(own))
    return value
