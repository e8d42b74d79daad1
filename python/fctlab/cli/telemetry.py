"""``fctlab fabric import``, ``sampling`` and ``watch``: flow logs as traffic of a fabric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fctlab.cli import logs as of_logs
from fctlab.cli import progress as showing
from fctlab.cli.options import FABRIC, Sets, ShowProgress, examples, items
from fctlab.cli.terminal import AsJson, Force, output, say, show, show_json
from fctlab.errors import SpecError

if TYPE_CHECKING:
    from fctlab.fabric.importing import Wanted
    from fctlab.slo.flowlog import Columns


def register(group: typer.Typer) -> None:
    """Adds the commands to those of a fabric."""
    group.command(
        "import",
        epilog=examples(
            FABRIC,
            "fctlab run fabric.toml --set traffic.duration=60ms --out results/log",
            "fctlab fabric import results/log/flows.parquet --topology fabric.toml"
            " --out results/imported",
        ),
    )(import_)
    group.command(
        epilog=examples(
            FABRIC,
            "fctlab run fabric.toml --set traffic.duration=60ms --out results/log",
            "fctlab fabric import results/log/flows.parquet --topology fabric.toml"
            " --out results/imported",
            "fctlab fabric sampling results/imported/scenario.json"
            " --sampled 1MB=1,10KB=0.25,0B=0.03",
        ),
    )(sampling)
    group.command(
        epilog=examples(
            FABRIC,
            "fctlab run fabric.toml --set traffic.duration=60ms --out results/log",
            "fctlab fabric watch results/log --match flows.parquet --once"
            " --topology fabric.toml --out results/watched",
        ),
    )(watch)


SpecFile = Annotated[
    Path, typer.Argument(metavar="SPEC", help="A scenario of a trace, such as import writes.")
]
Topology = Annotated[
    Path,
    typer.Option(
        metavar="SCENARIO", help="Its topology, its scheme, and what is asked of which class."
    ),
]
Hosts = Annotated[
    Path | None,
    typer.Option(
        metavar="CSV",
        help="Columns address,host; a host is a name or a number.",
        show_default="addresses and names of the topology, or numbers",
    ),
]
Sampled = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE=SHARE,...",
        help="1MB=1,10KB=0.25,0B=0.03: all above 1 MB, a quarter above 10 KB, 3% of the rest.",
        show_default="as the log's weights say",
    ),
]
Weight = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="How many flows a record stands for.")
]
Picks = Annotated[str, typer.Option(metavar="A,B", help="busiest, median, random.")]
Window = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Length of a window.", show_default="about 50,000 flows"),
]
Seed = Annotated[int, typer.Option(help="Of random windows, and of flows nobody recorded.")]


def import_(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...", help="Flow logs: CSV, TSV, Parquet, JSON lines, Zeek; or .gz."
        ),
    ],
    topology: Topology,
    out: Annotated[Path, typer.Option(parser=output, help="Directory of scenario and traces.")],
    hosts: Hosts = None,
    sampled: Sampled = None,
    weight: Weight = None,
    windows: Picks = "busiest,median,random",
    window: Window = None,
    seed: Seed = 1,
    sets: Sets = None,
    time: of_logs.Time = None,
    end: of_logs.End = None,
    duration: of_logs.Lasts = None,
    size: of_logs.Size = None,
    traffic_class: of_logs.Classes = None,
    names: of_logs.Names = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make of flow logs a scenario that predict, plan, verify and whatif take."""
    from fctlab.cli.layout import shown
    from fctlab.fabric import importing, saved, words
    from fctlab.fabric.types import FabricImport
    from fctlab.slo import flowlog
    from fctlab.slo.words import warnings

    columns = flowlog.Columns(time, end, duration, size, traffic_class, weight)
    wanted = _wanted(columns, names, hosts, sampled, windows, window, seed)
    with saved.writing(FabricImport, out, reads=[*logs, topology], force=force) as draft:
        found = importing.imported(logs, topology, draft.folder, wanted, sets or [])
        saved.write(found, {}, draft.folder)
    say(f"saved in {out}")
    if as_json:
        return show_json(found.to_dict())
    show(shown([*words.imported(found), *warnings(found)]))
    say(f"next: fctlab fabric predict {out / 'scenario.json'}")
    if sampled is not None:
        cost = f"fctlab fabric sampling {out / 'scenario.json'} --sampled {sampled}"
        say(f"what sampling costs, as far as its flows tell: {cost}")


def _wanted(
    columns: Columns,
    names: str | None,
    hosts: Path | None,
    sampled: str | None,
    windows: str,
    window: str | None,
    seed: int,
) -> Wanted:
    """What the options ask of logs."""
    from fctlab.fabric.importing import Wanted

    picks = items("--windows", windows, str)
    return Wanted(columns, of_logs.names_of(names), hosts, sampled, picks, window, seed)


def sampling(
    spec: SpecFile,
    sampled: Annotated[
        str, typer.Option(metavar="SIZE=SHARE,...", help="Shares of flows, by size; see import.")
    ],
    tries: Annotated[int, typer.Option(help="Samples to draw.")] = 3,
    sets: Sets = None,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Find out what sampling costs: predict a trace, and what samples of it are expanded to."""
    from fctlab.cli.layout import shown
    from fctlab.fabric import words
    from fctlab.fabric.costing import sampling as cost

    with showing.of_answer(progress) as told:
        found = cost(spec, sampled, sets=sets or [], tries=tries, told=told)
    if as_json:
        return show_json(found.to_dict())
    show(shown(words.sampling(found)))


def watch(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where a new flow log appears now and then.")
    ],
    topology: Topology,
    out: Annotated[Path, typer.Option(parser=output, help="Gets a directory per log.")],
    match: Annotated[
        str, typer.Option(metavar="PATTERN", help="Names of logs, such as 'flows-*.csv'.")
    ] = "*",
    once: Annotated[bool, typer.Option("--once", help="End when all logs are judged.")] = False,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="Look so often.")] = 5.0,
    hosts: Hosts = None,
    sampled: Sampled = None,
    weight: Weight = None,
    windows: Picks = "busiest",
    window: Window = None,
    seed: Seed = 1,
    sets: Sets = None,
    time: of_logs.Time = None,
    end: of_logs.End = None,
    duration: of_logs.Lasts = None,
    size: of_logs.Size = None,
    traffic_class: of_logs.Classes = None,
    names: of_logs.Names = None,
    as_json: AsJson = False,
) -> None:
    """Judge each new log, and write weights where an SLO is at risk; no device is told anything."""
    import time as clock

    from fctlab.cli.layout import shown
    from fctlab.fabric import words
    from fctlab.fabric.watching import Watch
    from fctlab.slo import flowlog

    if not every > 0:
        raise SpecError("every", f"{every:g} is not above 0 seconds")
    columns = flowlog.Columns(time, end, duration, size, traffic_class, weight)
    wanted = _wanted(columns, names, hosts, sampled, windows, window, seed)
    watched = Watch(folder, topology, out, match, wanted, tuple(sets or ()))
    wrong: dict[Path, float] = {}
    while True:
        for log in watched.fresh():
            written = log.stat().st_mtime
            still = not once and clock.time() - written < every
            if still or wrong.get(log) == written:
                continue
            try:
                found = watched.judge(log)
            except SpecError as error:
                if once:
                    raise
                wrong[log] = written
                say(f"error: {error}")
                continue
            if as_json:
                show_json(found.to_dict())
            else:
                show(shown(words.epoch(found)))
            if found.specification:
                say(f"next: fctlab fabric verify {found.specification}")
        if once:
            return
        clock.sleep(every)
