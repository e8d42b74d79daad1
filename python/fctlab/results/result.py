"""Running one scenario, and what was found."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fctlab import _native, formats, memory, tables
from fctlab.errors import SpecError, SpecWarning
from fctlab.jobs import engine
from fctlab.results import elsewhere, kinds, rising, store
from fctlab.results.elsewhere import FlowsLike
from fctlab.scenario import Prepared, ScenarioLike, load_scenario, warn

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from fctlab.results import figures
    from fctlab.results.drawing import Drawing

ProgressCallback = Callable[[_native.Progress], object]


class Result:
    """What the run of one scenario found.

    Attributes:
        scenario: the resolved scenario; running it again gives the same flows.
        counters: what was counted over the whole run, warm-up included
            (``packet_hops``, ``drops``, ``ecn_marks``, ``timeouts``, ...). Of flows that were
            made elsewhere only what they tell: ``flows_started``, ``flows_finished``, ...
        perf: how fast it went (``wall_s``, ``cpu_s``, ``packet_hops_per_s``,
            ``simulated_s``, ``peak_rss_bytes``); not part of the result's identity. Of flows
            that were made elsewhere only ``simulated_s``, the last instant that they tell of.
        extras: further summaries that ``measure.extras`` asked for, by name.
        directory: where the result is saved, if it is.
    """

    def __init__(
        self,
        scenario: dict[str, Any],
        report: dict[str, Any],
        outcome: _native.RunOutcome | None,
        directory: Path | None,
    ) -> None:
        self.scenario = scenario
        self.directory = directory
        self.counters: dict[str, int] = report["counters"]
        self.perf: dict[str, float] = report["perf"]
        self.extras: dict[str, Any] = report["extras"]
        self._report = report
        self._outcome = outcome
        self._table: bytes | None = None

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> Result:
        """Read a saved result.

        Raises:
            SpecError: the directory does not hold a whole result of one run.
        """
        path = Path(directory)
        return cls(*kinds.read_run(path), None, path)

    @classmethod
    def of_flows(
        cls, scenario: ScenarioLike, flows: FlowsLike, *, made_by: str = "elsewhere"
    ) -> Result:
        """What is said of flows that another simulator or a testbed has made.

        Summary, slowdowns and ideal completion times are computed as for our own flows. The
        scenario says where they ran: its fabric and packets give the ideal times, `measure` what
        counts, the scheme its name.

        Args:
            scenario: a `Scenario`, a mapping with its tables, or a file.
            flows: a row per flow: a ``.parquet`` or ``.csv`` file, a frame of polars, or what
                exports Arrow. Columns, others being ignored: ``start_s``, ``src``, ``dst``,
                ``size_bytes``, or ``flow`` alone, which numbers the flows of the scenario's
                traffic; ``fct_s`` or ``finish_s``, seconds, empty where a flow did not finish;
                and what ``docs/explanation/definitions.md`` says.
            made_by: what made them, for people.

        Raises:
            SpecError: a mistake in the scenario; a column that is missing; the first row that is
                no flow of the fabric, has a wrong time, or whose flow is in another row.
        """
        prepared = load_scenario(scenario).resolve()
        place = str(flows) if isinstance(flows, str | PathLike) else "flows"
        try:
            outcome = _native.told(prepared.native, elsewhere.as_arrow(flows))
        except SpecError as error:
            raise SpecError(place if error.path == "flows" else error.path, error.message) from None
        report = json.loads(outcome.report()) | {"engine": engine(), "made_by": made_by}
        for line in report["warnings"]:
            warnings.warn(line, SpecWarning, stacklevel=2)
        return cls(prepared.tables, report, outcome, None)

    def __getstate__(self) -> dict[str, Any]:
        """A copy in another process has the flows with it, unless they are in a directory."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("flows", "summary")}
        if self._outcome is None:
            return state
        with tempfile.TemporaryDirectory(prefix="fctlab-") as folder:
            self.write_flows(Path(folder))
            table = (Path(folder) / kinds.FLOWS).read_bytes()
        return state | {"_outcome": None, "_table": table}

    def _repr_html_(self) -> str:
        """The tables of the terminal, in a notebook."""
        from fctlab.results import words

        return tables.html(words.result(self))

    @property
    def report(self) -> dict[str, Any]:
        """``{"summary", "offered", "warnings", "counters", "perf", "extras", ...}``, plain values.

        ``offered`` is the load that traffic, pattern and topology put on the busiest link of
        each tier, computed beforehand: shares of its rate (``load``, of which ``data``,
        ``headers``, ``telemetry``, ``acks``); ``warnings`` are lines. ``extras["cut"]`` is there
        where ``measure.max_time`` ended the run before all was done:
        ``{"at_s", "flows_not_started", "flows_unfinished"}``.
        """
        return self._report

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow, in order of start: row i is the same flow under every scheme.

        Columns: ``flow``, ``traffic_class``, ``src``, ``dst`` (host numbers), ``size_bytes``
        (payload), ``start_s``, ``fct_s``, ``ideal_fct_s``, ``slowdown`` (fct / ideal),
        ``finished`` (if not, ``fct_s`` is the time until the end of the run, and ``slowdown`` at
        least 1: lower bounds),
        ``unfinished_reason``, ``measured`` (started inside the window), ``retransmissions``,
        ``timeouts``, ``query``.

        Of a run in memory the frame shares the engine's numbers without a copy.
        """
        return self.scan_flows().collect()

    def scan_flows(self) -> pl.LazyFrame:
        """`flows`, read only as far as needed."""
        import polars as pl

        if self._outcome is not None:
            return pl.DataFrame(self._outcome.flows()).lazy()
        if self._table is not None:
            return pl.read_parquet(io.BytesIO(self._table)).lazy()
        assert self.directory is not None
        return pl.scan_parquet(self.directory / kinds.FLOWS)

    def with_trace(self) -> pl.DataFrame:
        """`flows`, and beside each what else its row of the trace has, such as an id.

        Raises:
            SpecError: there is no trace, or its file was changed since the run.
        """
        from fctlab.results import traces

        return traces.joined(self)

    def measured(self, *columns: str) -> dict[str, NDArray[Any]]:
        """Columns of the measured flows as arrays.

        Without polars, whose threads do not survive in a process that was forked.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        wanted = ["measured", *columns]
        if self._outcome is not None:
            table = pa.table(self._outcome.flows()).select(wanted)
        elif self._table is not None:
            table = pq.read_table(io.BytesIO(self._table), columns=wanted, use_threads=False)
        else:
            assert self.directory is not None
            file = self.directory / kinds.FLOWS
            table = pq.read_table(file, columns=wanted, use_threads=False)
        arrays = {name: table.column(name).to_numpy() for name in wanted}
        return {name: arrays[name][arrays["measured"]] for name in columns}

    def remember_rise(self) -> None:
        """Put into the report what is said where slowdowns still rise while they are measured."""
        import polars as pl

        measured = self.scan_flows().filter(pl.col("measured")).select("slowdown").collect()
        self._report["tenths"] = rising.tenths(measured["slowdown"])
        self._report["warnings"] += self._rise()

    def _rise(self) -> list[str]:
        told = rising.told_of(self.scenario)
        more = rising.of_runs([self._report["tenths"]]) if told else None
        return [] if more is None else [rising.words(more)]

    @cached_property
    def summary(self) -> pl.DataFrame:
        """Completion times and slowdowns of the measured flows, one row per size class.

        Columns: ``scheme``, ``class`` (``all``, ``small`` (0, 100 KB], ``medium``
        (100 KB, 10 MB], ``large``), ``traffic_class``, ``flows``, ``unfinished``, and ``avg_``,
        ``p50_``, ``p99_`` of ``fct_s`` and ``slowdown``. Percentiles are nearest rank; null where
        there are no flows. ``M_lower_bound`` says of each such ``M`` that it is a lower bound:
        unfinished flows, which count with the time until the end of the run, could raise it.
        """
        import polars as pl

        return pl.DataFrame(self._report["summary"], infer_schema_length=None)

    @property
    def recordings(self) -> list[Path]:
        """Files that the scenario's recorders wrote."""
        assert self.directory is not None or not self._report["recordings"]
        folder = (self.directory or Path()) / kinds.RECORDINGS
        return [folder / name for name in self._report["recordings"]]

    @property
    def scheme(self) -> str:
        """Name of the scheme."""
        name: str = self.scenario["scheme"]["name"]
        return name

    @property
    def engine(self) -> str:
        """What simulated it: ``"packet"``, ``"fluid"``, ``"model"``, or who made the flows."""
        if self.made_elsewhere:
            return str(self._report["made_by"])
        # Results that were saved before there was a choice do not say.
        kind: str = self.scenario.get("engine", {"kind": "packet"})["kind"]
        return kind

    @property
    def made_elsewhere(self) -> bool:
        """Whether it is of flows that no engine here made, see `of_flows`."""
        return "made_by" in self._report

    def plot_fct_cdf(self) -> Drawing:
        """Cumulative distribution of flow completion times, logarithmic in time."""
        return self._figures()[kinds.FCT_CDF]()

    def plot_slowdown(self) -> Drawing:
        """Average and 99th percentile of the slowdown against flow size."""
        return self._figures()[kinds.SLOWDOWN]()

    def plot_mapping(self) -> Drawing | None:
        """The mapping from tags to queues over time at the recorded ports, if there is one.

        It needs ``[record.ports]`` and a discipline whose queues take tags up to a threshold.
        """
        draw = self._figures().get(kinds.MAPPING)
        return draw and draw()

    def plot_state(self) -> Drawing | None:
        """The memory of the recorded ports over time, if any port remembers packets that left.

        It needs ``[record.ports]`` and a discipline such as ``awafs`` or a dynamic mapping.
        """
        draw = self._figures().get(kinds.STATE)
        return draw and draw()

    def _figures(self) -> dict[str, figures.Draw]:
        from fctlab.results import figures

        return figures.of_run(self)

    @property
    def title(self) -> str:
        """The scenario's name."""
        name: str = self.scenario["name"]
        return name

    def save(
        self,
        directory: str | PathLike[str],
        *,
        force: bool = False,
        reads: Iterable[Path] = (),
    ) -> None:
        """Save as a result directory, whole or not at all; an older result there is replaced.

        It holds ``flows.parquet``, ``summary.csv``, ``scenario.json`` (resolved; running it
        again gives the same ``flows.parquet``), ``report.json``, ``fct_cdf.png``,
        ``slowdown_by_size.png`` and ``recordings/``; ``mapping.png`` where ports whose tags
        choose the queue were recorded, and ``state.png`` where ports remember packets.

        Args:
            directory: made if need be.
            force: also over several runs, into a directory that holds no result, or over `reads`.
            reads: files that it was made of.

        Raises:
            OutputError: the directory cannot be written or its disk is too small, or it holds
                what is not overwritten without `force`.
        """
        flows = self.counters["flows_started"]
        with store.writing(directory, flows, kinds.RUN, reads=reads, force=force) as draft:
            self.write_flows(draft.folder)
            self.write_plots(draft.folder)
            self.write_tables(draft.folder)

    def write_flows(self, folder: Path) -> None:
        """Write the flows and recordings as part of a result directory."""
        if self._outcome is not None:
            self._outcome.flows().write(folder / kinds.FLOWS)
        elif self._table is not None:
            (folder / kinds.FLOWS).write_bytes(self._table)
        elif self.directory is not None:
            shutil.copyfile(self.directory / kinds.FLOWS, folder / kinds.FLOWS)
            if self.recordings:
                shutil.copytree(self.directory / kinds.RECORDINGS, folder / kinds.RECORDINGS)

    def write_plots(self, folder: Path) -> None:
        """Write the figures of a result directory, unless `kinds.DRAWN` says no."""
        if kinds.draws_figures():
            from fctlab.results import figures

            figures.write(self._figures(), folder)

    def write_tables(self, folder: Path) -> None:
        """Write the summary, the report and, last, the scenario of a result directory."""
        (folder / kinds.SUMMARY).write_text(formats.csv(self.summary))
        store.write_json(folder / kinds.REPORT, self.report)
        store.write_json(folder / kinds.SCENARIO, self.scenario)


def simulate(
    scenario: Prepared,
    folder: Path | None,
    progress: ProgressCallback | None,
    threads: int = 1,
) -> Result:
    """Run what is prepared; flows and recordings go into `folder`, if there is one."""
    memory.check_runs([memory.held(scenario, folder is not None)])
    recordings = folder and folder / kinds.RECORDINGS
    if recordings:
        recordings.mkdir(parents=True)
    flows = folder and folder / kinds.FLOWS
    outcome = _native.run(scenario.native, flows, recordings, progress, threads)
    report = json.loads(outcome.report()) | {"engine": engine()}
    if recordings and not report["recordings"]:
        recordings.rmdir()
    return Result(scenario.tables, report, None if folder else outcome, folder)


def run(
    scenario: ScenarioLike,
    *,
    seed: int | None = None,
    threads: int = 1,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    progress: ProgressCallback | None = None,
) -> Result:
    """Simulate a scenario: packet by packet, or as its ``engine`` says.

    With ``engine = "fluid"`` it is one fluid for all links, with ``engine = "model"`` the
    functional model of one bottleneck.

    The interpreter is released meanwhile, so runs in several threads use several cores.

    Parts of the scenario that do not meet are warned of (`SpecWarning`) before it starts, and
    slowdowns that still rise while they are measured at its end.

    Args:
        scenario: a `Scenario`, a mapping with its tables, or a file.
        seed: instead of the scenario's.
        threads: that share the work, each a part of the fabric; the result is the same on any
            number. Where there can be no more than a few, that is warned of, and done.
        out: save the result there (see `Result.save`); flows are then streamed to disk and
            memory follows the flows in flight.
        force: let `out` replace a comparison, or what is no result, or what the run reads.
        progress: called about ten times a second; what it raises ends the run.

    Raises:
        SpecError: the scenario has a mistake, offers more than its links carry (unless
            ``traffic.overload`` is true), or measures no flow.
        OutputError: `out` cannot be written, or holds what is not overwritten without `force`;
            nothing has been simulated.
        KeyboardInterrupt: on Ctrl-C, within a second; nothing is left of the result.
    """
    loaded = load_scenario(scenario)
    if "runs" in loaded.value:
        raise SpecError("runs", "this is a saved comparison; run it with compare")
    if seed is not None:
        loaded = loaded.set("seed", seed)
    resolved = loaded.resolve()
    warn([resolved])
    threads = _as_many(threads, resolved)
    if out is None:
        result = simulate(resolved, None, progress, threads)
        result.remember_rise()
        return _told(result)
    directory = store.as_directory(out)
    reads = kinds.files_in([loaded.source, resolved.tables])
    flows = resolved["traffic"].get("flows")
    with store.writing(directory, flows, kinds.RUN, reads=reads, force=force) as draft:
        result = simulate(resolved, draft.folder, progress, threads)
        result.remember_rise()
        result.write_plots(draft.folder)
        result.write_tables(draft.folder)
    result.directory = directory
    return _told(result)


def _told(result: Result) -> Result:
    """Said of what was found."""
    for line in result._rise():
        warnings.warn(line, SpecWarning, stacklevel=3)
    return result


def _as_many(threads: int, scenario: Prepared) -> int:
    """As many threads as asked for and possible."""
    if threads < 1:
        raise SpecError("threads", f"{threads} is not at least 1")
    most, why = scenario.native.most_threads()
    if threads > most:
        text = f"threads: {most} of {threads}: {why}"
        warnings.warn(text, SpecWarning, stacklevel=3)
    return min(threads, most)
