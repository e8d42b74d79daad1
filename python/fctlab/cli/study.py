"""``fctlab study``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from fctlab import choices, studies
from fctlab.cli import progress as showing
from fctlab.cli.options import Address, Executor, ShowProgress, Workers, examples, items
from fctlab.cli.terminal import AsJson, Force, output, say, show, show_json


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command(rich_help_panel="Papers", epilog=examples("fctlab study bigswitch --only ascc-t1"))(
        study
    )
    app.command(
        rich_help_panel="Papers",
        epilog=examples(
            "fctlab study bigswitch --only ascc-t1 --out results/bigswitch",
            "fctlab claims results/bigswitch --out results/claims.html",
        ),
    )(claims)


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
    settle: Annotated[
        bool,
        typer.Option("--settle", help="More seeds for undecided claims, until they are decided."),
    ] = False,
    settings: Annotated[
        bool,
        typer.Option(
            "--settings", help="Claims under every reading of what the paper leaves open."
        ),
    ] = False,
    double: Annotated[
        bool,
        typer.Option(
            "--double", help="Longer runs and wider fabrics too: which effects are converged."
        ),
    ] = False,
    long: Annotated[
        bool,
        typer.Option("--long", help="All of --double, --settings and --settle, within one budget."),
    ] = False,
    max_seeds: Annotated[
        int | None, typer.Option(help="With --settle: at most so many.", show_default="40")
    ] = None,
    max_cpu_hours: Annotated[
        float | None,
        typer.Option(help="Of these three: none that leads beyond; what is left has its price."),
    ] = None,
    workers: Workers = None,
    executor: Executor = None,
    address: Address = None,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Reproduce a paper: its figures, and a table claim by claim (paper / here / verdict)."""
    from fctlab.cluster import opened
    from fctlab.studies.framework import conduct, report
    from fctlab.studies.framework.report import terminal

    chosen = studies.load(name)
    mode: Literal["quick", "full"] = "full" if full else "quick"
    out = out or Path("results") / f"{name}-{mode}"
    with opened(executor, address) as pool, showing.of_study(progress) as watch:
        found = conduct.study(
            chosen,
            mode,
            out=out,
            force=force,
            seeds=seeds,
            only=items("--only", only, str),
            settled=settle or long,
            settings=settings or (long and bool(chosen.left_open.settings)),
            doubled=double or long,
            max_seeds=max_seeds,
            max_cpu_hours=max_cpu_hours,
            workers=workers,
            executor=pool,
            watch=watch,
        )
    if as_json:
        show_json(found.json)
    else:
        show(terminal.table(found.json))
    say(f"saved in {out}: {report.HTML}, {report.MARKDOWN}, {report.JSON}, {report.FIGURES}/")


def claims(
    places: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="What --out of studies wrote."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write the page here, one HTML file that needs no other.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--all", help="With the claims of studies that were not run.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Every claim of several studies on one page: paper, here, verdict, how robust it is."""
    import os

    from fctlab.results.drafts import write_whole
    from fctlab.studies.framework import kept, report
    from fctlab.studies.framework.report import overview

    command = f"fctlab claims {' '.join(map(str, places))}{' --all' * whole} --out {out}"
    places = [file for place in places for file in kept.files(place)]
    found = [kept.read(place) for place in places]
    names = [each["study"] for each in found]
    choices.check_distinct("DIR", names)
    if whole:
        found += [kept.not_run(studies.load(n)) for n in studies.STUDIES if n not in names]
    if as_json:
        show_json(overview.plain(found))
    else:
        show(overview.table(found))
    if out:
        links = {
            each["study"]: os.path.relpath(place / report.HTML, out.parent)
            for each, place in zip(found, places, strict=False)
            if (place / report.HTML).exists()
        }
        write_whole(out, overview.page(found, links, command).html())
        say(f"open {out} in a browser")
