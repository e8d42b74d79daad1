"""Section 3.1: two flows to one receiver. Claims dsrtf-c1 and dsrtf-c2.

The paper's schedulers are ideal: priorities that know everything, over senders that always have
something in the queue of a network that loses nothing. Real schemes stand beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fctlab.studies.dsrtf.setting import (
    BASE_RTT,
    D_SRTF,
    D_SRTF_IA,
    DCTCP,
    PFABRIC_OWN,
    PIAS_WS,
    Lab,
)
from fctlab.studies.framework.cells import Cell, Source
from fctlab.studies.framework.figures import Bar, Quantity, bar_figure
from fctlab.studies.framework.lab import claim
from fctlab.studies.framework.runs import Run
from fctlab.studies.framework.study import Figure, Part
from fctlab.studies.framework.verdict import Exact

if TYPE_CHECKING:
    from fctlab.results.result import Result


def _two_flows() -> str:
    """4 Gb at 0 s and 3 Gb from another sender at 2 s."""
    return "start_s,src,dst,size_bytes\n0,0,2,500000000\n2,1,2,375000000\n"


FLOWS = Source("two-flows.csv", _two_flows)
# Section 3.1.2: sender 1 has 0.5 Gbps from 2 s to 5 s.
LESS = [
    {
        "links": ["host 0 -> switch"],
        "changes": [{"at": "2s", "rate": "500Mbps"}, {"at": "5s", "rate": "1Gbps"}],
    }
]
AVAILABLE = {"kind": "remaining-time", "size": "remaining", "bandwidth": "available"}
REAL = (D_SRTF, D_SRTF_IA, PIAS_WS, DCTCP, PFABRIC_OWN)
LOAD = 0.5
"""For PIAS's thresholds."""


def each_flow(result: Result) -> dict[str, Any]:
    """The completion time of each flow in seconds."""
    return {"fct_s": result.flows["fct_s"].to_list()}


def _cell(lab: Lab, case: int, name: str, scheme: dict[str, Any]) -> Cell:
    scenario: dict[str, Any] = {
        "name": f"case study 3.1.{case}, {name}",
        "packet": {"payload": "1500B", "header": "0B"},  # the paper counts no headers
        "topology": {"kind": "star", "senders": 2, "host_rate": "1Gbps", "base_rtt": BASE_RTT},
        "traffic": {"trace": FLOWS},
        "scheme": {"name": name, **scheme},
    }
    if case == 2:
        scenario["capacity"] = LESS
    return lab.custom(f"case study 3.1.{case}, {name}", scenario, each_flow)


def _ideal(lab: Lab, case: int, name: str, tagger: Any) -> Cell:
    port = {"discipline": "srpt", "buffer": "1MB"}
    scheme = {"transport": "fixed-window", "tagger": tagger, "port": port}
    return _cell(lab, case, name, scheme)


def _ideals(lab: Lab, case: int) -> dict[str, Cell]:
    if case == 1:
        taggers: dict[str, Any] = {
            "SJF, aware": "size",
            "SJF, agnostic": "sent",
            "SRTF": "remaining",
        }
    else:
        taggers = {"SRSF": "remaining", "SRTF": AVAILABLE}
    return {name: _ideal(lab, case, name, tagger) for name, tagger in taggers.items()}


def _real(lab: Lab, case: int) -> dict[str, Cell]:
    return {scheme.name: _cell(lab, case, scheme.name, scheme.at(LOAD)) for scheme in REAL}


def _average(run: Run) -> float:
    return (_of_flow(1)(run) + _of_flow(2)(run)) / 2


def _of_flow(number: int) -> Callable[[Run], float]:
    return lambda run: float(run.kept["fct_s"][number - 1])


def _part(
    name: str, cell: Cell, of: Callable[[Run], float], paper: float, counts: bool = True
) -> Part:
    return Part(name, f"{paper:g} s", Exact(paper, 0.01), (cell,), of, counts)


def _beside(lab: Lab, case: int, paper: float) -> Iterator[Part]:
    """Real schemes against SRTF's number."""
    for name, cell in _real(lab, case).items():
        yield _part(f"{name}, average (s)", cell, _average, paper, counts=False)


AVERAGES = {"SJF, aware": 5.0, "SJF, agnostic": 5.5, "SRTF": 4.5}
"""Seconds in section 3.1.1."""
FLOWS_OF_TWO = {"SRSF": (5.25, 5.5, 5.0), "SRTF": (5.0, 7.0, 3.0)}
"""The same in 3.1.2: average, flow 1, flow 2."""


@claim(
    "dsrtf-c1",
    "Case study 3.1.1: average FCT under SJF that knows sizes; SJF that does not; SRTF",
    "5 s; 5.5 s; 4.5 s",
)
def one_link(lab: Lab) -> Iterator[Part]:
    """Two flows over one link."""
    cells = _ideals(lab, 1)
    for name, paper in AVERAGES.items():
        yield _part(f"{name}, average (s)", cells[name], _average, paper)
    yield from _beside(lab, 1, AVERAGES["SRTF"])


@claim(
    "dsrtf-c2",
    "Case study 3.1.2, sender 1 limited to 0.5 Gbps from 2 s to 5 s: FCT under SRSF; SRTF",
    "5.25 s (5.5, 5); 5 s (7, 3)",
)
def less_for_one(lab: Lab) -> Iterator[Part]:
    """Two flows, one of which has less for a while."""
    cells = _ideals(lab, 2)
    for name, (average, first, second) in FLOWS_OF_TWO.items():
        yield _part(f"{name}, average (s)", cells[name], _average, average)
        yield _part(f"{name}, flow 1 (s)", cells[name], _of_flow(1), first)
        yield _part(f"{name}, flow 2 (s)", cells[name], _of_flow(2), second)
    yield from _beside(lab, 2, FLOWS_OF_TWO["SRTF"][0])


CLAIMS = (one_link, less_for_one)


def figure(lab: Lab) -> Figure:
    """The paper's figures 1 and 3, as completion times."""
    of = {"flow 1": _of_flow(1), "flow 2": _of_flow(2), "average": _average}

    def groups(case: int) -> dict[str, dict[str, Bar]]:
        cells = _ideals(lab, case) | _real(lab, case)
        return {
            name.replace(", ", "\n"): {words: ((cell,), f) for words, f in of.items()}
            for name, cell in cells.items()
        }

    seconds = Quantity("completion time (s)")
    return bar_figure(
        "case-studies",
        "Figures 1 and 3: case studies",
        "Completion times of the two flows in the paper's figures 1 (above) and 3 (below). Left "
        "the ideal schedulers that it draws, right real schemes.",
        ("dsrtf-c1", "dsrtf-c2"),
        [("section 3.1.1", seconds, groups(1)), ("section 3.1.2", seconds, groups(2))],
        below=True,
    )
