"""``fctlab fit``: a flow log becomes a specification."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fctlab.cli import logs
from fctlab.cli.options import examples
from fctlab.cli.terminal import AsJson, Force, output, say, show, show_json
from fctlab.errors import SpecError
from fctlab.formats import count

if TYPE_CHECKING:
    from fctlab.slo import fitspec


BIG_BYTES = 50e6
"""A log from here on takes long enough to be told of."""


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command(
        rich_help_panel="Keep SLOs",
        epilog=examples(
            "fctlab init scenario mine.toml",
            "fctlab run mine.toml --out results/mine",
            "fctlab fit results/mine/flows.parquet --link 400Gbps --rtt 16us",
        ),
    )(fit)


def fit(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="LOG", help="A flow log: CSV, TSV, Parquet, JSON lines, Zeek; or .gz."
        ),
    ],
    link: Annotated[
        str | None, typer.Option(metavar="RATE", help="The link that its flows share: 100Gbps.")
    ] = None,
    rtt: Annotated[str | None, typer.Option(metavar="TIME", help="Its round trip: 10us.")] = None,
    slo: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[CLASS=]SLO", help="'p99 < 5' of all, web='p99 < 3' of one; may be repeated."
        ),
    ] = None,
    cc: Annotated[
        str, typer.Option(metavar="PRESET", help="Congestion control of its flows.")
    ] = "dctcp-rate",
    time: logs.Time = None,
    end: logs.End = None,
    duration: logs.Lasts = None,
    size: logs.Size = None,
    traffic_class: logs.Classes = None,
    names: logs.Names = None,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=output,
            help="Directory of the specification.",
            show_default="LOG-fit, with --link",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Turn a flow log into a specification that predict and plan take."""
    from fctlab.cli.layout import shown
    from fctlab.results import kinds
    from fctlab.slo import fit as fitting
    from fctlab.slo import fitspec, fitwords, flowlog, planning, words

    columns = flowlog.Columns(time, end, duration, size, traffic_class)
    if trace.is_file() and (size_bytes := trace.stat().st_size) > BIG_BYTES:
        say(f"reading and fitting {trace}, {count(size_bytes)}B")
    shared = _link(link, rtt, slo or [], cc)
    if out is None and shared is not None:
        out = Path(trace.name.split(".")[0] + "-fit")
    if out is None:
        found = fitting.fit(flowlog.read(trace, columns, logs.names_of(names)))
    else:
        with fitspec.output(trace, out, force=force) as draft:
            log = flowlog.read(trace, columns, logs.names_of(names))
            found = fitting.fit(log)
            files = fitspec.write(found, log, draft.folder, shared)
        say(f"saved in {out}: {', '.join(files)}")
    if as_json:
        return show_json(found.to_dict())
    if out is None or shared is None:
        return show(shown(fitwords.fit(found)))
    specification = out / kinds.FITTED_SPEC
    show(shown(fitwords.fit(found, words.link_bps(planning.load(specification)))))
    say(f"next: fctlab predict {specification}")


def _link(link: str | None, rtt: str | None, slos: list[str], cc: str) -> fitspec.Link | None:
    """The link, where one is given."""
    from fctlab.slo import fitspec

    if link is not None and rtt is not None:
        return fitspec.Link(link, rtt, cc, tuple(slos))
    for option, given in (("--link", link), ("--rtt", rtt), ("--slo", slos)):
        if given:
            raise SpecError(option, "takes --link and --rtt, such as --link 100Gbps --rtt 10us")
    return None
