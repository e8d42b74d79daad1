"""The same flows under several schemes, loads and seeds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from fctlab import _native, choices, formats, intervals, memory, tables
from fctlab.errors import SpecError, SpecWarning
from fctlab.jobs import Job, Told, cores, run_jobs
from fctlab.results import kinds, merged, rising, store
from fctlab.results.result import Result, simulate
from fctlab.scenario import Prepared, Scenario, ScenarioLike, load_scenario, warn

if TYPE_CHECKING:
    import polars as pl

    from fctlab.results.drawing import Drawing

METRICS = tuple(f"{s}_{m}" for m in ("fct_s", "slowdown") for s in ("avg", "p50", "p99"))
KEYS = ("scheme", "load", "class", "traffic_class")


@dataclass(frozen=True)
class Cell:
    """One run of a comparison."""

    scheme: str
    load: float | None
    seed: int
    scenario: dict[str, Any]
    """Resolved."""

    @property
    def name(self) -> str:
        """``scheme-load-seed``, fit for a file name; every cell's is different."""
        load = [] if self.load is None else [f"{self.load:g}"]
        return "-".join([quote(self.scheme, safe=" "), *load, str(self.seed)])


Planned: TypeAlias = tuple[Cell, Prepared]
"""A run, and what is run."""

CellProgress = Callable[[Cell, _native.Progress | None], object]
"""Told how far a cell has come, from several threads; ``None`` when it is done."""


CellsStarted = Callable[[Sequence[Cell], Collection[str]], object]
"""Told every cell, and the names of those that an earlier process has done."""


class Comparison:
    """What several schemes made of the same flows.

    Attributes:
        cells: what was run: every scheme, within it every load, within it every seed.
        results: one `Result` per cell.
    """

    def __init__(self, cells: Sequence[Cell], results: Sequence[Result]) -> None:
        self.cells = tuple(cells)
        self.results = tuple(results)

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> Comparison:
        """Read a saved comparison.

        Raises:
            SpecError: the directory does not hold a whole one.
        """
        path = Path(directory)
        cells, results = [], []
        for i, run in enumerate(kinds.read_comparison(path)):
            try:
                cell = Cell(run["scheme"], run["load"], run["seed"], run["scenario"])
            except (KeyError, TypeError):
                where = f"{path / kinds.SCENARIO}: runs[{i}]"
                raise SpecError(where, "is not a run of a saved comparison") from None
            cells.append(cell)
            results.append(Result.load(path / kinds.RUNS / cell.name))
        return cls(cells, results)

    @property
    def one_trace(self) -> bool:
        """Whether every seed replays the same flows: seeds then only draw paths and the like."""
        return all("trace" in cell.scenario["traffic"] for cell in self.cells)

    @cached_property
    def same_under_every_seed(self) -> bool:
        """Whether the seeds, of which there are several, make no difference at all."""
        found: dict[tuple[str, float | None], set[str]] = {}
        for cell, result in self._pairs():
            told = repr((result.report["summary"], result.counters))
            found.setdefault((cell.scheme, cell.load), set()).add(told)
        return len(self.seeds) > 1 and all(len(each) == 1 for each in found.values())

    @property
    def schemes(self) -> list[str]:
        """Names of the schemes; others are compared with the first, the baseline."""
        return list(dict.fromkeys(cell.scheme for cell in self.cells))

    @property
    def loads(self) -> list[float | None]:
        """The loads; ``[None]`` for a trace, which has none."""
        return list(dict.fromkeys(cell.load for cell in self.cells))

    @property
    def seeds(self) -> list[int]:
        """The seeds."""
        return list(dict.fromkeys(cell.seed for cell in self.cells))

    @cached_property
    def runs(self) -> pl.DataFrame:
        """The summary rows of every run, with the columns ``load`` and ``seed``."""
        import polars as pl

        return pl.concat(
            result.summary.with_columns(*_columns(cell)) for cell, result in self._pairs()
        )

    @cached_property
    def summary(self) -> pl.DataFrame:
        """Means over the seeds, one row per scheme, load and size class.

        Columns: ``scheme``, ``load``, ``class``, ``traffic_class``, ``seeds``, ``flows`` and
        ``unfinished`` (of all seeds; of a trace, which every seed replays, ``flows`` once and the
        most ``unfinished`` of any seed), and for each metric ``M`` of `METRICS`:

        * ``M``: mean of the seeds' values,
        * ``M_lower_bound``: whether it is a lower bound, because one of the seeds' values is
          (see `Result.summary`),
        * ``M_ci95``: half-width of its 95% t interval; null with one seed, of a lower bound, and
          where a trace gives the same value under every seed,
        * ``M_ratio``: mean over the seeds of the ratio to the first scheme on the same flows; null
          ("not known") where either is a lower bound,
        * ``M_ratio_ci95``: half-width of its 95% t interval; null where ``M_ci95`` would be.
        """
        import polars as pl

        baseline = self.runs.filter(pl.col("scheme") == self.schemes[0])
        paired = self.runs.join(
            baseline,
            on=("load", "seed", "class", "traffic_class"),
            suffix="_base",
            how="left",
            nulls_equal=True,
            maintain_order="left",
        ).with_columns(
            column
            for m in METRICS
            for column in (
                (pl.col(m) / pl.col(f"{m}_base")).alias(f"{m}_ratio"),
                (pl.col(f"{m}_lower_bound") | pl.col(f"{m}_lower_bound_base")).alias(
                    f"{m}_ratio_not_known"
                ),
            )
        )

        def half_width(name: str) -> pl.Expr:
            values = pl.col(name)
            half = intervals.of_mean(values, len(self.seeds))
            if self.one_trace:  # one sample: values that are equal are not several
                half = pl.when(values.min() < values.max()).then(half)
            return half

        estimates = []
        for metric in METRICS:
            ratio, bound = f"{metric}_ratio", pl.col(f"{metric}_lower_bound").any()
            known, both = ~bound, ~pl.col(f"{metric}_ratio_not_known").any()
            estimates += [
                pl.col(metric).mean(),
                bound,
                pl.when(known).then(half_width(metric)).alias(f"{metric}_ci95"),
                pl.when(both).then(pl.col(ratio).mean()).alias(ratio),
                pl.when(both).then(half_width(ratio)).alias(f"{ratio}_ci95"),
            ]
        counted = pl.col("flows"), pl.col("unfinished")
        flows = [c.max() if self.one_trace else c.sum() for c in counted]
        return paired.group_by(KEYS, maintain_order=True).agg(
            pl.len().alias("seeds"), *flows, *estimates
        )

    @cached_property
    def flows(self) -> pl.DataFrame:
        """The flows of every run (see `Result.flows`) with ``scheme``, ``load``, ``seed``."""
        import polars as pl

        return pl.concat(
            result.flows.with_columns(pl.lit(cell.scheme).alias("scheme"), *_columns(cell))
            for cell, result in self._pairs()
        )

    def _repr_html_(self) -> str:
        """The tables of the terminal, in a notebook."""
        from fctlab.results import words

        return tables.html(words.comparison(self))

    @property
    def report(self) -> dict[str, Any]:
        """``{"summary": [...], "runs": [{"scheme", "load", "seed", ...}]}`` as plain values."""
        return {
            "summary": self.summary.to_dicts(),
            "runs": [
                {"scheme": cell.scheme, "load": cell.load, "seed": cell.seed} | result.report
                for cell, result in self._pairs()
            ],
        }

    def plot_fct_cdf(self) -> Drawing:
        """Cumulative distribution of completion times, one line per scheme."""
        return self._figure(kinds.FCT_CDF)

    def plot_slowdown(self) -> Drawing:
        """Average and 99th percentile of the slowdown against flow size, one line per scheme."""
        return self._figure(kinds.SLOWDOWN)

    def plot_by_load(
        self,
        metric: str = "slowdown",
        *,
        sizes: Sequence[str] = ("all", "small", "large"),
        traffic_class: str | None = None,
    ) -> Drawing:
        """Average and 99th percentile against load, one line per scheme, a row per size class.

        Args:
            metric: ``"slowdown"``, or ``"fct_s"``, completion times.
            sizes: size classes from top to bottom: ``"all"``, ``"small"``, ``"medium"``,
                ``"large"``; those without flows are left out.
            traffic_class: whose flows; of all unless given.

        Raises:
            SpecError: there is one load or none, or a name that is not there.
        """
        from fctlab.results import figures

        return figures.by_load(self, metric, sizes, traffic_class)

    def _figure(self, name: str) -> Drawing:
        from fctlab.results import figures

        return figures.of_comparison(self)[name]()

    @property
    def draws(self) -> str:
        """What several seeds are: ``"3 seeds"``; empty with one."""
        if len(self.seeds) < 2:
            return ""
        return f"{len(self.seeds)} {'path draws' if self.one_trace else 'seeds'}"

    def save(self, directory: str | PathLike[str], *, force: bool = False) -> None:
        """Save as a result directory, whole or not at all; an older result there is replaced.

        It holds ``flows.parquet`` and ``summary.csv`` of all runs, ``scenario.json``
        (``fctlab compare`` runs it again), ``report.json``, its figures
        (`fctlab.results.figures`), and each run as a result
        directory of its own, without plots, in ``runs/``.

        Args:
            directory: made if need be.
            force: also over more runs, or into a directory that holds no result.

        Raises:
            OutputError: the directory cannot be written or its disk is too small, or it holds
                what is not overwritten without `force`.
        """
        flows = sum(result.counters["flows_started"] for result in self.results)
        runs = len(self.cells)
        with store.writing(directory, 2 * flows, kinds.COMPARISON, runs=runs, force=force) as draft:
            for cell, result in self._pairs():
                run_folder = draft.run_folder(cell.name)
                run_folder.mkdir(parents=True)
                result.write_flows(run_folder)
                result.write_tables(run_folder)
            self._write(draft.folder)

    def _write(self, folder: Path) -> None:
        """Write every file of a result directory but ``runs/``, where the flows come from."""
        labels = [(cell.name, cell.scheme, cell.load, cell.seed) for cell in self.cells]
        merged.write(labels, folder)
        (folder / kinds.SUMMARY).write_text(formats.csv(self.summary))
        if kinds.draws_figures():
            from fctlab.results import figures

            figures.write(figures.of_comparison(self), folder)
        store.write_json(folder / kinds.REPORT, self.report)
        store.write_json(folder / kinds.SCENARIO, {"runs": [asdict(c) for c in self.cells]})

    def _pairs(self) -> list[tuple[Cell, Result]]:
        return list(zip(self.cells, self.results, strict=True))


def compare(
    scenario: ScenarioLike,
    schemes: Sequence[str] = (),
    *,
    loads: Sequence[float] = (),
    seeds: int | None = None,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: CellProgress | None = None,
    started: CellsStarted | None = None,
) -> Comparison:
    """Run the same flows under several schemes, at several loads, with several seeds.

    Runs share the cores; what is found does not depend on how many there are.

    Args:
        scenario: a `Scenario`, a mapping with its tables, or a file; also the
            ``scenario.json`` of a saved comparison, which then says everything else.
        schemes: tables ``[schemes.NAME]`` of the scenario or presets; the first one is the
            baseline. All tables of the scenario unless given.
        loads: instead of the scenario's.
        seeds: how many, counted up from the scenario's; one unless given.
        out: save the comparison there (see `Comparison.save`). When it ends early, the runs
            that are whole are kept, and the same comparison started there again takes them over;
            an older result there stays as it is.
        force: let `out` replace a comparison of more runs, or what is no result, or what is read.
        workers: runs at once; one per core unless given.
        executor: of ``concurrent.futures``, does the runs instead of threads of this process; what
            is found is the same, but a run tells nothing until it is done.
        progress: called about ten times a second for each run that is under way.
        started: called once, before the first run.

    Raises:
        SpecError: a mistake in the scenario or an argument, or flows of runs at once that do not
            fit into memory; nothing has been simulated.
        OutputError: `out` cannot be written, or holds what is not overwritten without `force`;
            nothing has been simulated.
        KeyboardInterrupt: on Ctrl-C, within a second; its text says what was kept.
    """
    loaded = load_scenario(scenario)
    planned = _plan(loaded, schemes, loads, seeds)
    cells = [cell for cell, _ in planned]
    if workers is None:
        workers = cores()
    elif workers < 1:
        raise SpecError("workers", f"{workers} is not at least 1")
    warn(prepared for _, prepared in planned)
    held = (memory.held(prepared, out is not None) for _, prepared in planned)
    memory.check_runs(held, None if out is None else workers)
    if out is None:
        results = _simulate_all(planned, None, workers, executor, progress, started)
        return _told(Comparison(cells, results))
    counts = [cell.scenario["traffic"].get("flows") or 0 for cell in cells]
    reads = kinds.files_in([loaded.source, *(cell.scenario for cell in cells)])
    with store.writing(
        out, 2 * sum(counts), kinds.COMPARISON, reads=reads, runs=len(cells), force=force
    ) as draft:
        results = _simulate_all(planned, draft, workers, executor, progress, started)
        comparison = Comparison(cells, results)
        comparison._write(draft.folder)
    for cell, result in comparison._pairs():
        result.directory = Path(out) / kinds.RUNS / cell.name
    return _told(comparison)


def _told(comparison: Comparison) -> Comparison:
    """Said of what was found, after it is saved."""
    alike: dict[str, list[list[float] | None]] = {}
    for cell, result in comparison._pairs():
        load = f" at load {cell.load:g}" if len(comparison.loads) > 1 else ""
        if rising.told_of(cell.scenario):
            alike.setdefault(cell.scheme + load, []).append(result.report.get("tenths"))
    for line in rising.of_several(alike):
        warnings.warn(line, SpecWarning, stacklevel=3)
    return comparison


def _plan(
    scenario: Scenario, schemes: Sequence[str], loads: Sequence[float], seeds: int | None
) -> list[Planned]:
    """Every run, prepared: a mistake in the last one shows before the first one starts."""
    if "runs" in scenario.value:
        if schemes or loads or seeds is not None or scenario.sets:
            raise SpecError("runs", "a saved comparison is run as it is; nothing can be changed")
        return _saved_plan(scenario)
    if isinstance(schemes, str):
        raise SpecError("schemes", f"{schemes!r} is text, not a list of names")
    schemes = schemes or list(scenario.value.get("schemes", {}))
    if not schemes:
        raise SpecError("schemes", "is missing; name one or more, such as dctcp,pfabric")
    choices.check_distinct("schemes", schemes)
    choices.check_distinct("loads", loads)
    if seeds is not None and seeds < 1:
        raise SpecError("seeds", f"{seeds} is not at least 1")
    planned = []
    for scheme in schemes:
        chosen = scenario.with_scheme(scheme)
        for loaded in [chosen.set("traffic.load", load) for load in loads] or [chosen]:
            try:
                first = loaded.resolve()
            except SpecError as error:
                if not loads or error.path != "traffic.load":
                    raise
                raise SpecError("loads", error.message) from None
            for seed in range(first["seed"], first["seed"] + (seeds or 1)):
                resolved = loaded.set("seed", seed).resolve()
                planned.append(_planned(resolved, scheme))
    return planned


def _planned(prepared: Prepared, scheme: str) -> Planned:
    load, seed = prepared["traffic"].get("load"), prepared["seed"]
    return Cell(scheme, load, seed, prepared.tables), prepared


def _saved_plan(scenario: Scenario) -> list[Planned]:
    """The runs of a saved comparison."""
    runs = scenario.value["runs"]
    planned = []
    for i, run in enumerate(runs):
        try:
            resolved = Scenario(run["scenario"], scenario.base_dir).resolve()
        except SpecError as error:
            raise SpecError(f"runs[{i}].scenario.{error.path}", error.message) from None
        except (KeyError, TypeError):
            raise SpecError(f"runs[{i}]", "is not a run of a saved comparison") from None
        planned.append(_planned(resolved, resolved["scheme"]["name"]))
    return planned


def _simulate_all(
    planned: Sequence[Planned],
    draft: store.Draft | None,
    workers: int,
    executor: Executor | None,
    progress: CellProgress | None,
    started: CellsStarted | None,
) -> list[Result]:
    """Run every cell, into `draft` if there is one; all stop when one fails."""
    cells = {cell.name: cell for cell, _ in planned}
    done = draft.take_over({cell.name: cell.scenario for cell, _ in planned}) if draft else set()
    if started:
        started(list(cells.values()), done)
    results = {}
    jobs = []
    for cell, prepared in planned:
        folder = draft.run_folder(cell.name) if draft else None
        if folder and cell.name in done:
            results[cell.name] = Result.load(folder)
        else:
            jobs.append(Job(cell.name, _run_cell, (prepared, folder)))

    def told(job: Job[Result], seen: object) -> None:
        if progress and isinstance(seen, _native.Progress):
            progress(cells[job.name], seen)

    with closing(run_jobs(jobs, workers, executor=executor, told=told)) as found:
        for job, result in found:
            results[job.name] = result
            if progress:
                progress(cells[job.name], None)
    return [results[name] for name in cells]


def _run_cell(run: tuple[Prepared, Path | None], told: Told) -> Result:
    """Run what is prepared, into a folder if there is one."""
    prepared, folder = run
    result = simulate(prepared, folder, told)
    result.remember_rise()
    if folder:
        result.write_tables(folder)
    return result


def _columns(cell: Cell) -> list[pl.Expr]:
    import polars as pl

    return [
        pl.lit(cell.load, dtype=pl.Float64).alias("load"),
        pl.lit(cell.seed, dtype=pl.UInt64).alias("seed"),
    ]
