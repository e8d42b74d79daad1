"""fctlab: a laboratory for datacenter flow scheduling.

>>> import fctlab
>>> result = fctlab.run("scenarios/websearch-leafspine.toml")
>>> result.summary, result.flows, result.plot_fct_cdf()
>>> fctlab.compare("scenarios/websearch-leafspine.toml", ["dctcp", "pfabric"], seeds=5).summary
>>> fctlab.planning.predict("scenarios/slo-two-classes.toml")
>>> fctlab.fit("flows.csv")
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from fctlab import _native
from fctlab._native import Progress
from fctlab.errors import InternalError, OutputError, SpecError, SpecWarning

if TYPE_CHECKING:
    from fctlab.results.comparison import Cell, Comparison, compare
    from fctlab.results.result import Result, run
    from fctlab.scenario import Scenario, load_scenario
    from fctlab.slo import planning
    from fctlab.slo.fit import fit
    from fctlab.tuning.mapping import compute_mapping, save_mapping
    from fctlab.tuning.types import Mapping

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


_LATER = {
    "Cell": "fctlab.results.comparison:Cell",
    "Comparison": "fctlab.results.comparison:Comparison",
    "Mapping": "fctlab.tuning.types:Mapping",
    "Result": "fctlab.results.result:Result",
    "Scenario": "fctlab.scenario:Scenario",
    "compare": "fctlab.results.comparison:compare",
    "compute_mapping": "fctlab.tuning.mapping:compute_mapping",
    "fit": "fctlab.slo.fit:fit",
    "load_scenario": "fctlab.scenario:load_scenario",
    "planning": "fctlab.slo.planning",
    "run": "fctlab.results.result:run",
    "save_mapping": "fctlab.tuning.mapping:save_mapping",
}
"""What is imported when it is first asked for: most programs need some of it."""


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
    from fctlab.results import comparison, kinds, result

    kind = kinds.kind_of(Path(directory))
    of = comparison.Comparison if kind is kinds.COMPARISON else result.Result
    return of.load(directory)


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
    from fctlab.scenario import of_environment

    own = [*of_environment(), *(() if presets is None else (str(presets),))]
    value: dict[str, list[dict[str, str]]] = json.loads(_native.catalog(own))
    return value
