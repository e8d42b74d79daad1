"""``fctlab testbed``: the same flows on a real Linux."""

from __future__ import annotations

from typing import Annotated

import typer

import fctlab
from fctlab.cli import report
from fctlab.cli.layout import shown
from fctlab.cli.options import Out, Presets, ScenarioFile, Seed, Sets, examples
from fctlab.cli.terminal import AsJson, Force, say, show, show_json

group = typer.Typer(
    help="The flows of a scenario on a real Linux: its TCP, its queues, its tagger.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program, as a group of its own."""
    app.add_typer(group, name="testbed", rich_help_panel="Simulate")


@group.command(epilog=examples("fctlab testbed build"))
def build(
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Compilers at once.", show_default="one per core")
    ] = None,
) -> None:
    """Build the Linux that runs in virtual time, once, in minutes."""
    from fctlab.testbed import uml

    print(uml.build(say, jobs))


@group.command(
    epilog=examples(
        "fctlab init scenario mine.toml",
        "fctlab testbed run scenarios/linux-star.toml --on uml --out results/linux",
    )
)
def run(
    scenario: ScenarioFile,
    on: Annotated[
        str, typer.Option(help="uml (virtual time), or namespaces (real time, 200 Mbps).")
    ] = "uml",
    rate: Annotated[
        str | None,
        typer.Option(help="Of hosts, instead of the scenario's; times grow as rates shrink."),
    ] = None,
    presets: Presets = None,
    sets: Sets = None,
    seed: Seed = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Send the flows of a scenario through Linux, and show it beside the engine."""
    from fctlab import testbed
    from fctlab.testbed import words

    loaded = fctlab.load_scenario(scenario, presets=presets).with_sets(sets or [])
    ran = testbed.run(loaded, on, rate=rate, seed=seed, out=out, force=force, say=say)
    if as_json:
        show_json(ran.report)
    else:
        show(shown(words.ran(ran)))
    if out is not None:
        report.write(out)
        say(f"saved in {out}: flows.parquet, summary.csv, ... of Linux")
