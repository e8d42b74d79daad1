"""A scenario on a testbed: its flows as the engine has them, sent by Linux, and both results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from fctlab.errors import SpecError
from fctlab.results import kinds, store
from fctlab.results.result import Result
from fctlab.results.result import run as simulate
from fctlab.scenario import Scenario, ScenarioLike, load_scenario
from fctlab.testbed import congestion, namespaces, network, plan, queues, tagger, uml
from fctlab.testbed.plan import Plan
from fctlab.testbed.port import Kernel

PLACES = ("uml", "namespaces")
"""Where the hosts are: in virtual time, and in real time on this machine."""
MOST_BPS = 2.5e9
"""In virtual time a clock tick of 256 ns is 80 bytes of it."""


@dataclass(frozen=True)
class Ran:
    """Flows on Linux and in the engine.

    Attributes:
        on: where.
        linux: what Linux made of them.
        simulated: what the engine did: the same flows.
        counters: of each namespace, what its queues and its TCP have counted.
        late_s: of each flow, how long after its start it was sent.
    """

    on: str
    linux: Result
    simulated: Result
    counters: dict[str, Any]
    late_s: list[float]

    @property
    def report(self) -> dict[str, Any]:
        """That of Linux, with ``simulated``, the engine's summary, and ``namespaces``."""
        return {
            "scenario": self.linux.scenario,
            **self.linux.report,
            "on": self.on,
            "simulated": self.simulated.report["summary"],
            "late_s": max(self.late_s, default=0.0),
            "namespaces": self.counters,
        }


def run(
    scenario: ScenarioLike,
    on: str,
    *,
    rate: str | None = None,
    seed: int | None = None,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    say: Callable[[str], object] = lambda _: None,
) -> Ran:
    """Run the flows of a scenario on Linux.

    Args:
        scenario: a `Scenario`, a mapping with its tables, or a file; a star.
        on: ``"uml"``, virtual time, or ``"namespaces"``, real time.
        rate: of its hosts, instead of the scenario's (uml) or 200 Mbps (namespaces): times grow
            as rates shrink.
        seed: instead of the scenario's.
        out: save what Linux made of them there, as the result of a run.
        force: as of `fctlab.run`.
        say: told what is being done.

    Raises:
        SpecError: the scenario has what no testbed does, or the machine cannot do it.
        OutputError: `out` cannot be written; nothing has been sent.
    """
    if on not in PLACES:
        raise SpecError("--on", f"{on!r} is none of {', '.join(PLACES)}")
    loaded = load_scenario(scenario)
    if seed is not None:
        loaded = loaded.set("seed", seed)
    if on == "namespaces":
        rate = rate or namespaces.RATE
    if rate is not None:
        loaded = plan.at_rate(loaded, rate)
    prepared = loaded.resolve()
    wanted = plan.of(prepared)
    kernel = _kernel(on, wanted, say)
    say(f"about {prepared.expected_flows:,} flows through Linux")
    if out is None:
        return _replay(loaded, simulate(loaded), wanted, on, kernel)
    reads = kinds.files_in([loaded.source, prepared.tables])
    with store.writing(out, prepared.expected_flows, kinds.RUN, reads=reads, force=force) as draft:
        ran = _replay(loaded, simulate(loaded), wanted, on, kernel)
        for write in (ran.linux.write_flows, ran.linux.write_plots, ran.linux.write_tables):
            write(draft.folder)
    ran.linux.directory = store.as_directory(out)
    return ran


def _kernel(on: str, wanted: Plan, say: Callable[[str], object]) -> Kernel:
    """The kernel of a place, if that can run what is wanted."""
    if on == "uml" and wanted.nics[0].rate_bps > MOST_BPS:
        raise SpecError("topology.host_rate", "is beyond 2.5 Gbps, the clock's grain; --rate 1Gbps")
    why = uml.lacks() if on == "uml" else namespaces.lacks()
    if why:
        raise SpecError(f"--on {on}", why)
    if on == "uml":
        return Kernel()
    here = namespaces.kernel()
    for line in namespaces.check(wanted, here):
        say(line)
    return here


def lacks(scenario: ScenarioLike, on: str) -> str | None:
    """Why this machine cannot run a scenario at a place; ``None`` if it can. As of `run`."""
    wanted = plan.of(load_scenario(scenario).resolve())
    try:
        _kernel(on, wanted, lambda _: None)
    except SpecError as error:
        return str(error)
    return None


def replay(
    simulated: Result,
    on: str,
    say: Callable[[str], object] = lambda _: None,
    settings: Mapping[str, str] | None = None,
) -> Ran:
    """Send the flows of a run of the engine through Linux; as `run`, at the run's own rate.

    Args:
        simulated: the run.
        on: as of `run`.
        say: as of `run`.
        settings: of hosts, by their names below ``/proc/sys``, besides the testbed's.

    Raises:
        SpecError: its scenario has what no testbed does, or the machine cannot do it.
    """
    loaded = load_scenario(simulated.scenario)
    wanted = plan.of(loaded.resolve())
    return _replay(loaded, simulated, wanted, on, _kernel(on, wanted, say), settings)


def _replay(
    loaded: Scenario,
    simulated: Result,
    wanted: Plan,
    on: str,
    kernel: Kernel,
    settings: Mapping[str, str] | None = None,
) -> Ran:
    flows = simulated.flows
    rows = list(flows.select("start_s", "src", "dst", "size_bytes").iter_rows())
    with TemporaryDirectory(prefix="fctlab-") as made:
        job, told = Path(made) / "job.json", Path(made) / "answer.json"
        programs = _programs(wanted, kernel, Path(made))
        job.write_text(json.dumps(network.job(wanted, rows, kernel, programs, settings)))
        if on == "uml":
            uml.boot(job, told, simulated.scenario["seed"])
        else:
            namespaces.run(job, told)
        answer = json.loads(told.read_text())
    if "error" in answer:
        raise SpecError(f"--on {on}", _refused(answer))
    made_by = f"Linux {answer['kernel']}"
    return Ran(
        on=on,
        linux=Result.of_flows(loaded, _table(flows, answer), made_by=made_by),
        simulated=simulated,
        counters=answer["counters"],
        late_s=answer["late_s"],
    )


def _programs(wanted: Plan, kernel: Kernel, folder: Path) -> network.Made:
    """Those in BPF that a plan needs in a kernel, compiled."""
    tags = folder / "tagger.o" if wanted.thresholds else None
    if tags:
        tagger.build(wanted, tags)
    waits = folder / "queue.o" if queues.wanted(wanted, kernel) else None
    if waits:
        queues.build(wanted, waits)
    gives = congestion.command() if wanted.congestion in kernel.lacks else ()
    return network.Made(tags, waits, gives)


def _refused(answer: dict[str, Any]) -> str:
    """What went wrong; the log of the kernel's verifier is kept."""
    if not answer["log"]:
        return str(answer["error"])
    kept = Path(gettempdir()) / "fctlab-verifier.log"
    kept.write_text(answer["log"])
    return f"the kernel refuses a program in BPF; its verifier's log is {kept}"


def _table(flows: Any, answer: dict[str, Any]) -> Any:
    import polars as pl

    return flows.select(
        "start_s", "src", "dst", "size_bytes", "traffic_class", "flow"
    ).with_columns(
        pl.Series("fct_s", answer["fct_s"], dtype=pl.Float64),
        pl.Series("retransmissions", answer["resent"], dtype=pl.UInt32),
    )
