"""A run as a job whose answer is a point: summary, counters, and quantiles by size.

Answers are plain values without a trace of where or how fast they were found, so that the same
point is the same bytes on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from fctlab.jobs import Told, engine
from fctlab.results import kinds, rising
from fctlab.results.points import Found
from fctlab.results.result import Result, simulate
from fctlab.scenario import Scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray

PROBABILITIES = (
    *(0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    *(0.95, 0.98, 0.99, 0.995, 0.999, 1.0),
)
"""Of the quantiles that a point keeps; nearest rank."""
BINS_PER_DECADE = 4
"""Of flow size, from 1 B on."""
TIMED = ("wall_s", "cpu_s", "threads", "packet_hops_per_s", "peak_rss_bytes")
"""Of a run's ``perf``, what hangs on the machine."""


def simulated(given: Mapping[str, Any], told: Told) -> Found:
    """Run a resolved scenario.

    Args:
        given: ``scenario``, its tables; ``keep``, ``"summary"`` or ``"flows"``; ``also``, where
            there is more to remember: a function (`fctlab.jobs.named`) of the saved `Result` and
            of its ``arguments``, whose plain value is ``kept``.
        told: how far it has come.
    """
    # Prepared again: a job travels as text, and what is prepared is not small.
    prepared = Scenario(given["scenario"]).resolve()
    also = given.get("also")
    if given["keep"] == "summary" and not also and not any(prepared["record"].values()):
        result = simulate(prepared, None, told)
        return Found(_answer(result), _times(result))
    with TemporaryDirectory(prefix="fctlab-") as folder:
        result = simulate(prepared, Path(folder), told)
        kept = {"kept": resolve_name(also["name"])(result, *also["arguments"])} if also else {}
        flows = (Path(folder) / kinds.FLOWS).read_bytes() if given["keep"] == "flows" else None
        return Found(_answer(result) | kept, _times(result), flows)


def _answer(result: Result) -> dict[str, Any]:
    report = result.report
    told = ("summary", "counters", "offered", "warnings", "extras")
    perf = {key: value for key, value in result.perf.items() if key not in TIMED}
    flows = result.measured("size_bytes", "fct_s", "slowdown", "finished")
    return {
        **{key: report[key] for key in told},
        **perf,
        "tenths": rising.tenths(flows["slowdown"]) if rising.told_of(result.scenario) else None,
        "probabilities": list(PROBABILITIES),
        "sizes": _by_size(flows),
    }


def _times(result: Result) -> dict[str, Any]:
    return {key: result.perf[key] for key in TIMED if key in result.perf} | {"engine": engine()}


def _by_size(flows: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Quantiles of FCT and slowdown for each bin of size, smallest first.

    A quantile is null where an unfinished flow could still change it.
    """
    import numpy as np

    edges = [round(10 ** (k / BINS_PER_DECADE)) for k in range(20 * BINS_PER_DECADE)]
    bins = np.searchsorted(edges, flows["size_bytes"], side="right") - 1
    rows = []
    for number in np.unique(bins):
        rest = {name: values[bins == number] for name, values in flows.items()}
        finished = rest["finished"]
        row: dict[str, Any] = {
            "from_bytes": edges[number],
            "below_bytes": edges[number + 1],
            "flows": len(finished),
            "unfinished": int(np.count_nonzero(~finished)),
        }
        for metric in ("fct_s", "slowdown"):
            row[metric] = _quantiles(rest[metric], finished)
            row[f"avg_{metric}"] = float(rest[metric].mean()) if finished.all() else None
        rows.append(row)
    return rows


def _quantiles(values: NDArray[Any], finished: NDArray[Any]) -> list[float | None]:
    import numpy as np

    ranks = np.maximum(np.ceil(np.array(PROBABILITIES) * len(values)).astype(int), 1) - 1
    known = float(values[~finished].min(initial=np.inf))
    return [float(value) if value < known else None for value in np.sort(values)[ranks]]
