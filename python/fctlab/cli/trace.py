"""``fctlab trace``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fctlab.cli.options import examples
from fctlab.cli.terminal import Force, output, say, show_json
from fctlab.errors import SpecError
from fctlab.formats import RATES, rate_bps

MARK = "fctlab_trace"
"""In the metadata of a file that was written here."""


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command(
        rich_help_panel="Simulate",
        epilog=examples(
            "fctlab trace scenarios/trace-replay.csv --out flows.parquet --rate 10Gbps"
        ),
    )(trace)


def trace(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, .csv.gz or .parquet file.")],
    out: Annotated[
        Path, typer.Option(parser=output, help="Write the flows into this .parquet file.")
    ],
    rate: Annotated[
        str | None, typer.Option(help="Of every host's link, such as 10Gbps: shows its load.")
    ] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a trace that can be replayed from flows of your own: times from the first, in order."""
    import io

    import pyarrow.parquet as pq

    from fctlab.results import store, traces

    if rate is not None:
        try:
            rate_bps(rate)
        except (StopIteration, ValueError):
            raise SpecError("--rate", f"{rate!r} is no rate in {', '.join(RATES)}") from None
    if out.suffix != ".parquet":
        raise SpecError("--out", f"{out} is no .parquet file")
    place = store.FileOutput(out, lambda old: MARK.encode() in old, reads=[file], force=force)
    found = traces.read(file)
    table = io.BytesIO()
    pq.write_table(found.flows.to_arrow().replace_schema_metadata({MARK: "1"}), table)
    place.write(table.getvalue())
    told = traces.lines(found.flows.lazy(), rate)
    if as_json:
        names = {"columns": found.flows.columns, "flows": len(found.flows)}
        return show_json({"first_s": found.first_s, **names, "lines": told})
    print(*told, sep="\n")
    if found.first_s != "0":
        print(f"times are from {found.first_s} s on")
    say(f"saved in {out}: traffic.trace replays it")
