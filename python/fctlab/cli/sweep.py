"""``fctlab sweep`` and ``fctlab store``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from fctlab.cli import progress as showing
from fctlab.cli import report
from fctlab.cli.options import Address, Executor, Presets, ShowProgress, Workers, examples
from fctlab.cli.terminal import AsJson, output, say, show, show_json
from fctlab.errors import SpecError

PANEL = "Simulate"
QUICK = "fctlab sweep scenarios/sweeps/quick.toml"

Store = Annotated[Path, typer.Argument(help="A store of points: OUT/store of a sweep.")]
stores = typer.Typer(help="Look at stores of points, and keep them clean.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(QUICK),
    )(sweep)
    app.add_typer(stores, name="store", rich_help_panel=PANEL)


def sweep(
    file: Annotated[Path, typer.Argument(help="A sweep: a scenario, axes, seeds (TOML, ...).")],
    out: Annotated[
        Path | None,
        typer.Option(parser=output, help="Directory of its tables.", show_default="results/NAME"),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            parser=output,
            help="Directory of its points; sweeps and machines may share one.",
            show_default="OUT/store",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would cost, from short points.")
    ] = False,
    shard: Annotated[
        str | None, typer.Option(metavar="K/N", help="Only this part of the cells, such as 3/16.")
    ] = None,
    presets: Presets = None,
    executor: Executor = None,
    address: Address = None,
    workers: Workers = None,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Compute the points of a grid that are not there yet; goes on where it ended."""
    from fctlab import sweep as sweeps
    from fctlab.cli import sweep_tables as tables

    if dry_run:
        place = store or _default_store(file, out)
        found = sweeps.dry_run(file, store=place, shard=shard, presets=presets)
        if as_json:
            show_json(found.to_dict())
        else:
            show(tables.estimated(found))
        return
    from fctlab.cli.layout import shown
    from fctlab.cluster import opened
    from fctlab.sweep import words
    from fctlab.sweep.saved import Saved

    if not as_json:  # What the page needs, while points are computed.
        Thread(target=lambda: import_module("fctlab.report").load()).start()
    with opened(executor, address) as pool, showing.of_sweep(progress) as watch:
        done = sweeps.sweep(
            file,
            out=out,
            store=store,
            shard=shard,
            presets=presets,
            workers=workers,
            executor=pool,
            watch=watch,
        )
    if as_json:
        show_json(done.report)
        return
    place = out or Path("results") / done.grid.name
    told = Saved.of(done.report, str(place))
    for parts in words.summary(told, tables.MOST_ROWS), words.decisions(told, tables.MOST_ROWS):
        if parts:
            show(shown(parts))
    try:
        report.write(place)
    except SpecError as error:  # too many cells for a page: the sweep is done all the same
        say(f"no page: {error}")
    say(
        f"{len(done.runs):,} points, {done.computed:,} computed now ({done.cpu_s:.0f} CPU s); "
        f"saved in {place}: {sweeps.SUMMARY}, {sweeps.SWEEP}; points in {done.store.directory}"
    )


def _default_store(file: Path, out: Path | None) -> Path:
    from fctlab import sweep as sweeps
    from fctlab.sweep import grid

    return (out or Path("results") / grid.read(file).name) / sweeps.STORE


@stores.command(epilog=examples(QUICK, "fctlab store ls results/quick/store"))
def ls(store: Store, as_json: AsJson = False) -> None:
    """One line per point: what it is, how many flows, how long it took."""
    from fctlab.cli import sweep_tables as tables
    from fctlab.results.points import PointStore
    from fctlab.sweep import listing

    found = listing.points(PointStore(store))
    if as_json:
        show_json(found.to_dicts())
    else:
        show(tables.listing(found))


@stores.command("show", epilog=examples(QUICK, "fctlab store show results/quick/store"))
def show_point(
    store: Store,
    key: Annotated[
        str | None,
        typer.Argument(help="Of a point, or how it begins.", show_default="the first there is"),
    ] = None,
) -> None:
    """Everything that one point holds, as JSON."""
    from fctlab.results.points import PointStore
    from fctlab.sweep import listing

    points = PointStore(store)
    whole = listing.key_of(points, key) if key is not None else listing.first(points)
    point = points.get(whole)
    show_json({"key": whole, "input": point.input, **point.found, "times": points.times(whole)})


@stores.command(epilog=examples(QUICK, "fctlab store verify results/quick/store"))
def verify(store: Store) -> None:
    """Read every point, and say which are not what was written; exit code 2 if any."""
    from fctlab.results.points import PointStore

    points = PointStore(store)
    damaged = list(points.damaged())
    for file, why in damaged:
        say(f"{file}: {why}")
    if damaged:
        remedy = f"fctlab store gc {store} removes them, and they are computed again"
        raise SpecError(str(store), f"{len(damaged)} files are damaged; {remedy}")
    say(f"{len(points.names()):,} points, all as they were written")


@stores.command(epilog=examples(QUICK, "fctlab store gc results/quick/store"))
def gc(
    store: Store,
    other_engines: Annotated[
        bool, typer.Option("--other-engines", help="Also points of other builds of the engine.")
    ] = False,
) -> None:
    """Remove damaged points, and what processes left that were killed."""
    from fctlab.results.points import PointStore
    from fctlab.sweep import listing

    points = PointStore(store)
    others = listing.of_other_engines(points) if other_engines else []
    gone = points.clean(remove=others)
    for file in gone:
        say(f"removed {file}")
    say(f"{len(gone):,} files removed, {len(points.names()):,} points are left")
