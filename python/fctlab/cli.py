"""The program ``fctlab``.

Tables for people on stdout, or with ``--json`` one JSON object and nothing else.
Progress and errors go to stderr. Exit codes: 0, 2 for anything wrong with the input or
the output directory, 130 after Ctrl-C, 1 for a bug in fctlab.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, TypeAlias, TypeVar, cast

import typer
from rich.console import Console
from typer.core import TyperGroup

import fctlab
from fctlab import bigswitch, bigswitch_cli, planning, planning_cli, studies
from fctlab import mapping as mapping_module
from fctlab.errors import InternalError, SpecError
from fctlab.terminal import AsJson, Force, output, say, say_warnings, show, show_json

if TYPE_CHECKING:
    from rich.progress import TaskID

    from fctlab.studies.runner import Status


class _Group(TyperGroup):
    """Says what Ctrl-C left behind, before typer turns it into a bare exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            say(f"interrupted: {str(interrupt) or 'nothing was kept'}")
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=_Group,
    help="How should a datacenter network schedule flows so that they finish soon and on time?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)

app.add_typer(bigswitch_cli.app, name="bigswitch")
planning_cli.register(app)

ScenarioFile = Annotated[Path, typer.Argument(help="A scenario in TOML, YAML, JSON or Dhall.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change one key; may be repeated."),
]
Engine = Annotated[
    str | None,
    typer.Option(help="packet, or model (one bottleneck), instead of the scenario's own."),
]
Seed = Annotated[int | None, typer.Option(help="Instead of the scenario's seed.")]
Out = Annotated[Path | None, typer.Option(parser=output, help="Save the result in this directory.")]
ShowProgress = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="Progress on stderr.", show_default="on a tty"),
]


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"fctlab {fctlab.__version__} ({fctlab._native.build_profile()} build)")
        raise typer.Exit


@app.command()
def run(
    scenario: ScenarioFile,
    engine: Engine = None,
    sets: Sets = None,
    seed: Seed = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Simulate one scenario, packet by packet or on the functional model."""
    loaded = _load(scenario, engine, sets)
    with _progress(progress) as report:
        result = fctlab.run(
            loaded,
            seed=seed,
            out=out,
            force=force,
            progress=lambda seen: report("simulating", seen),
        )
    if as_json:
        show_json({"scenario": result.scenario, **result.report})
        return
    from fctlab import tables

    show(tables.result(result))
    _say_saved(out)


@app.command()
def compare(
    scenario: ScenarioFile,
    schemes: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Presets or tables \\[schemes.NAME] of the scenario."),
    ] = None,
    loads: Annotated[
        str | None, typer.Option(metavar="L,M", help="Loads instead of the scenario's.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many seeds, counted up from the scenario's.")
    ] = None,
    engine: Engine = None,
    sets: Sets = None,
    seed: Seed = None,
    out: Out = None,
    force: Force = False,
    workers: Annotated[
        int | None, typer.Option(help="Runs at once.", show_default="one per core")
    ] = None,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Run the same flows under several schemes, side by side; the first is the baseline."""
    loaded = _load(scenario, engine, sets)
    if seed is not None:
        loaded = loaded.set("seed", seed)
    with _progress(progress) as report:
        comparison = fctlab.compare(
            loaded,
            _items("--schemes", schemes, str),
            loads=_items("--loads", loads, float),
            seeds=seeds,
            out=out,
            force=force,
            workers=workers,
            progress=lambda cell, seen: report(cell.name, seen),
        )
    if as_json:
        show_json({"scenario": comparison.results[0].scenario, **comparison.report})
        return
    from fctlab import tables

    show(tables.comparison(comparison))
    _say_saved(out)


@app.command()
def mapping(
    result: Annotated[Path, typer.Argument(help="Directory of a run with \\[record.values].")],
    queues: Annotated[int, typer.Option(help="How many queues.")] = 8,
    policy: Annotated[str, typer.Option(help="How: fctlab list mappings.")] = "equal-split",
    scope: Annotated[
        str, typer.Option(help="A table for each: switch (and host), port, or global.")
    ] = "switch",
    out: Annotated[Path | None, typer.Option(parser=output, help="The file to write.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compute a static mapping from priorities to queues, from the values that ports saw."""
    place = None if out is None else mapping_module.output(out, force=force)
    found = fctlab.compute_mapping(
        result, queues, policy=policy, scope=cast("fctlab.mapping.Scope", scope)
    )
    if place is not None:
        place.write(mapping_module.as_json(found))
        say(f"saved in {out}")
    if as_json:
        show_json(found)
    elif out is None:
        from fctlab import tables

        show(tables.mapping(found))


@app.command()
def thresholds(
    scheme: Annotated[str, typer.Argument(help="Whose: pias.")] = "pias",
    workload: Annotated[str, typer.Option(help="A workload's name, or a CDF file.")] = "websearch",
    load: Annotated[float, typer.Option(help="Load of the link.")] = 0.6,
    queues: Annotated[int, typer.Option(help="How many queues.")] = 8,
    as_json: AsJson = False,
) -> None:
    """Compute demotion thresholds for a workload and a load."""
    from fctlab import thresholds as solver

    if scheme != "pias":
        raise SpecError("thresholds", f"{scheme!r} has no thresholds to solve; known: pias")
    sizes: str | dict[str, Any] = workload
    if Path(workload).suffix:
        sizes = {"kind": "cdf", "file": workload}
    found = solver.pias(sizes, load, queues)
    if as_json:
        show_json(found)
        return
    from fctlab import tables

    show(tables.thresholds(found))


@app.command()
def study(
    name: Annotated[str, typer.Argument(help="Which: fctlab list studies.")],
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="The paper's scale, or minutes.", show_default="quick"),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=output,
            help="Directory of the report; started again there, a study goes on where it ended.",
            show_default="results/NAME-MODE",
        ),
    ] = None,
    force: Force = False,
    seeds: Annotated[
        int | None, typer.Option(help="How many.", show_default="5 quick, 10 full")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only claims whose ids start so.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Runs at once.", show_default="one per core")
    ] = None,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Reproduce a paper: its figures, and a table claim by claim (paper / here / verdict)."""
    from fctlab.studies import conduct, report

    chosen = studies.load(name)
    mode: Literal["quick", "full"] = "full" if full else "quick"
    out = out or Path("results") / f"{name}-{mode}"
    with _study_progress(progress) as watch:
        found = conduct.study(
            chosen,
            mode,
            out=out,
            force=force,
            seeds=seeds,
            only=_items("--only", only, str),
            workers=workers,
            watch=watch,
        )
    if as_json:
        show_json(found.json)
    else:
        show(report.table(found))
    say(f"saved in {out}: {report.HTML}, {report.MARKDOWN}, {report.JSON}, {report.FIGURES}/")


@app.command(name="list")
def list_parts(
    place: Annotated[
        str | None, typer.Argument(help="schemes, workloads, topologies, ...; all unless given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what there is to choose from."""
    places = fctlab.catalog() | {"studies": studies.catalog(), "policies": bigswitch.policies()}
    places |= planning.catalog()
    if place is not None and place not in places:
        raise SpecError("list", f"{place!r} is not a place; known: {', '.join(places)}")
    chosen = {name: parts for name, parts in places.items() if place in (None, name)}
    if as_json:
        show_json(chosen)
        return
    from fctlab import tables

    show(tables.catalog(chosen))


@app.command()
def schema() -> None:
    """Print the JSON Schema of a scenario."""
    show_json(fctlab.schema())


@app.command()
def bench(
    area: Annotated[str, typer.Argument(help="packet, bigswitch or model")] = "packet",
    flows: Annotated[int | None, typer.Option(help="Instead of the reference's 20,000.")] = None,
    runs: Annotated[int, typer.Option(help="Runs of each, of which the median counts.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Measure the engines on this machine with the reference scenario."""
    from fctlab import bench as benchmarks

    found = benchmarks.measure(area, flows, runs, say=say)
    if as_json:
        show_json({"benchmarks": found})
        return
    from fctlab import tables

    show(tables.benchmarks(found))


def main() -> NoReturn:
    """Run the program; every error is one line on stderr."""
    say_warnings()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leaves no more behind than Ctrl-C
    try:
        code = app(standalone_mode=False) or 0
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + signal.SIGPIPE
    except (SpecError, OSError) as error:
        code = _fail(str(error), 2)
    except typer.TyperException as error:
        # Without arguments the help has been shown, and there is nothing more to say.
        message = error.format_message()
        code = _fail(message, error.exit_code) if message.strip() else error.exit_code
    except MemoryError as error:
        code = _fail(" ".join(["there is not enough memory", *map(str, error.args)]), 2)
    except InternalError as error:
        code = _fail(f"bug in fctlab {fctlab.__version__}, please report it: {error}", 1)
    sys.exit(code)


def _fail(message: str, code: int) -> int:
    say("error: " + " ".join(message.split()))
    return code


def _load(file: Path, engine: str | None, sets: list[str] | None) -> fctlab.Scenario:
    """A scenario with the changes of the command line."""
    loaded = fctlab.load_scenario(file)
    if engine is not None:
        loaded = loaded.set("engine", engine)
    return loaded.with_sets(sets or [])


def _say_saved(out: Path | None) -> None:
    if out is not None:
        say(f"saved in {out}: flows.parquet, summary.csv, fct_cdf.png, slowdown_by_size.png, ...")


T = TypeVar("T", str, float)


def _items(option: str, text: str | None, convert: type[T]) -> list[T]:
    """Splits ``a,b,c``."""
    if text is None:
        return []
    what = {str: "name", float: "number"}[convert]
    items = []
    for item in text.split(","):
        try:
            if not item.strip():
                raise ValueError
            items.append(convert(item.strip()))
        except ValueError:
            raise SpecError(option, f"{item!r} in {text!r} is not a {what}") from None
    return items


@contextmanager
def _study_progress(asked: bool | None) -> Iterator[Callable[[Status], object] | None]:
    """Runs of a study on stderr: a bar on a terminal; elsewhere, if asked for, lines."""
    terminal = sys.stderr.isatty()
    if terminal and asked is not False:
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Display

        columns = (
            TextColumn("{task.fields[done]} of {task.fields[all]} runs"),
            BarColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        with Display(*columns, console=Console(stderr=True), transient=True) as display:
            bar = display.add_task("", total=None, done=0, all="?")

            def draw(seen: Status) -> None:
                display.update(
                    bar,
                    description="; ".join(seen.running),
                    completed=seen.done_cost,
                    total=seen.total_cost,
                    done=seen.done,
                    all=seen.total,
                )

            yield draw
    elif asked:
        due = 0.0

        def line(seen: Status) -> None:
            nonlocal due
            now = time.monotonic()
            if now >= due or seen.done == seen.total:
                due = now + 1
                share = seen.done_cost / seen.total_cost
                say(f"{seen.done} of {seen.total} runs, {share:.0%}: {'; '.join(seen.running)}")

        yield line
    else:
        yield None


Report: TypeAlias = Callable[[str, fctlab.Progress | None], None]
"""Told the name of a run and how far it has come, ``None`` when it is done."""


@contextmanager
def _progress(asked: bool | None) -> Iterator[Report]:
    """Progress on stderr: bars on a terminal; elsewhere, if asked for, now and then a line."""
    terminal = sys.stderr.isatty()
    if terminal and asked is not False:
        with _bars() as report:
            yield report
    elif asked:
        yield _lines()
    else:
        yield lambda name, seen: None


def _lines() -> Report:
    """A line per run at most once a second."""
    due: dict[str, float] = {}

    def report(name: str, seen: fctlab.Progress | None) -> None:
        now = time.monotonic()
        if seen and now >= due.get(name, 0):
            due[name] = now + 1
            total = "" if seen.flows_expected is None else f" of {seen.flows_expected:,}"
            say(f"{name}: {seen.flows_finished:,}{total} flows, {seen.now_s:.3g} s")

    return report


@contextmanager
def _bars() -> Iterator[Report]:
    """One bar per run that is under way."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("flows"),
        TimeElapsedColumn(),
    )
    with Display(*columns, console=Console(stderr=True), transient=True) as display:
        bars: dict[str, TaskID] = {}

        def report(name: str, seen: fctlab.Progress | None) -> None:
            if seen is None:
                if name in bars:
                    display.remove_task(bars.pop(name))
                return
            if name not in bars:
                bars[name] = display.add_task(name, total=None)
            done, total = seen.flows_finished, seen.flows_expected
            display.update(bars[name], completed=done, total=total)

        yield report
