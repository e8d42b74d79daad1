"""``fctlab bigswitch``: the commands of the theory bench."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from fctlab import choices
from fctlab.cli.options import examples
from fctlab.cli.terminal import AsJson, Force, output, say, show, show_json
from fctlab.errors import SpecError
from fctlab.results import store
from fctlab.theory import bigswitch, proofs
from fctlab.theory.draw import draw as draw_schedules
from fctlab.theory.types import (
    Construction,
    Flow,
    Instance,
    Method,
    Metric,
    Optimum,
    Theorem1,
    WorstCase,
)

group = typer.Typer(
    help="The theory bench: policies on a slotted big switch, optima and worst cases.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program, as a group of its own."""
    app.add_typer(group, name="bigswitch", rich_help_panel="Papers")


DEFAULT = ["fifo", "brr", "las", "srpt", "asrpt"]
InstanceFile = Annotated[
    str,
    typer.Argument(metavar="INSTANCE", help="A file in JSON, TOML or YAML, or figure-1, -2, -3."),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help="""las, pias{thresholds=\\[2,4]}, ga{policy="ideal"}, ...; may be repeated.""",
        show_default=", ".join(DEFAULT),
    ),
]
Weighted = Annotated[bool, typer.Option("--weighted", help="Weighted FPT instead of FPT.")]
Ports = Annotated[int, typer.Option(help="Ports on each side.")]
Flows = Annotated[int, typer.Option(help="Flows at most.")]
Packets = Annotated[int, typer.Option(help="Packets of all flows at most.")]
Slots = Annotated[int, typer.Option(help="The last slot of an arrival.")]
MaxWeight = Annotated[int, typer.Option("--max-weight", help="The largest weight.")]
Seed = Annotated[int, typer.Option(help="Of everything random.")]


@group.command(epilog=examples("fctlab bigswitch run figure-1"))
def run(instance: InstanceFile, policy: Policies = None, as_json: AsJson = False) -> None:
    """Run policies over an instance: FPT, FCT, and the slot in which each flow ends."""
    loaded = bigswitch.load(instance)
    chosen = policy or DEFAULT
    choices.check_distinct("--policy", chosen)
    found = [(p, bigswitch.run(loaded, p)) for p in chosen]
    if as_json:
        rows = [{"policy": p, **ran.to_dict()} for p, ran in found]
        return show_json({"instance": loaded.to_dict(), "policies": rows})
    table = _table("policy", "FPT", "FCT", "average FCT", "weighted FPT", _ends_title(loaded))
    for p, ran in found:
        m = ran.metrics
        numbers = (f"{m.fpt:,}", f"{m.fct:,}", f"{m.afct:,.2f}", f"{m.weighted_fpt:,}")
        table.add_row(p, *numbers, _ends(ran.ends))
    show(table)


@group.command(epilog=examples("fctlab bigswitch opt figure-2"))
def opt(
    instance: InstanceFile,
    weighted: Weighted = False,
    method: Annotated[
        str | None,
        typer.Option(
            help="srpt, sets, states, bounds, milp or lp.", show_default="the first that applies"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the least FPT: exact, or a certified lower bound, and labelled as what it is."""
    loaded = bigswitch.load(instance)
    known = ("srpt", "sets", "states", "bounds", "milp", "lp")
    if method is not None:
        choices.check("--method", method, known, "a method")
    chosen: Method | None = method  # type: ignore[assignment]
    found = bigswitch.optimum(loaded, _metric(weighted), method=chosen, schedule=True)
    if as_json:
        return show_json({"instance": loaded.to_dict(), "optimum": found.to_dict()})
    lines = [f"{_what(weighted)} {'=' if found.is_exact else '>='} {found.value:,}"]
    lines.append(_how(found))
    if found.ends:
        lines.append(f"{_ends_title(loaded)}: {_ends(found.ends)}")
    show(Text("\n".join(lines)))


@group.command(
    epilog=examples("fctlab bigswitch ratio --instances 200 --policy las --policy asrpt")
)
def ratio(
    instance: Annotated[
        str | None, typer.Argument(metavar="INSTANCE", help="A file, or random ones without it.")
    ] = None,
    policy: Policies = None,
    weighted: Weighted = False,
    instances: Annotated[int, typer.Option(help="How many random ones.")] = 10_000,
    ports: Ports = 1,
    flows: Flows = 6,
    packets: Packets = 40,
    slots: Slots = 40,
    max_weight: MaxWeight = 1,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Compare policies with the optimum, on an instance or on random ones."""
    chosen = policy or [*DEFAULT[:3], "asrpt"]
    choices.check_distinct("--policy", chosen)
    if instance is not None:
        found = bigswitch.ratios(instance, chosen, _metric(weighted))
        if as_json:
            return show_json(found.to_dict())
        best = found.optimum
        sign = "" if best.is_exact else "<= "
        table = _table("policy", _what(weighted), "to the optimum")
        for row in found.policies:
            table.add_row(row.policy, f"{row.value:,}", f"{sign}{row.ratio:.4f}")
        return show(Group(table, Text(f"optimum {best.value:,} ({_how(best)})")))
    shape = _shape(ports, flows, packets, slots, max_weight)
    tried = bigswitch.random_ratios(chosen, instances, metric=_metric(weighted), seed=seed, **shape)
    if as_json:
        return show_json(tried.to_dict())
    table = _table("policy", "proven bound", "worst", "mean", "above the bound")
    for each in tried.policies:
        proven = each.proven if ports == 1 else None
        above = "-" if proven is None else str(each.violations)
        shown = "-" if proven is None else str(proven)
        ratios = ["-" if r is None else f"{r:.4f}" for r in (each.worst, each.mean)]
        table.add_row(each.policy, shown, *ratios, above)
    note = f"{tried.tried:,} random instances against the exact optimum"
    skipped = instances - tried.tried
    note += f"; {skipped:,} were too large for it" if skipped else ""
    show(Group(table, Text(note)))


@group.command(name="worst-case", epilog=examples("fctlab bigswitch worst-case fifo --theorem 3"))
def worst_case(
    policy: Annotated[str, typer.Argument(metavar="POLICY", help="Whose worst case.")],
    theorem: Annotated[
        int | None, typer.Option(help="The construction of theorem 1, 3 or 6 instead of a search.")
    ] = None,
    n: Annotated[int, typer.Option("--n", help="Size of the construction.")] = 3,
    factor: Annotated[int, typer.Option(help="Longer constructions come closer to the limit.")] = 8,
    weighted: Weighted = False,
    steps: Annotated[int, typer.Option(help="Changes per annealing.")] = 20_000,
    restarts: Annotated[int, typer.Option(help="Annealings of each size.")] = 2,
    ports: Ports = 1,
    flows: Flows = 8,
    packets: Packets = 240,
    slots: Slots = 240,
    max_weight: MaxWeight = 1,
    seed: Seed = 1,
    out: Annotated[
        Path | None, typer.Option(parser=output, help="Save the instance in this JSON file.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Find an instance on which a policy does badly: by search, or by a proof's construction."""
    place = None if out is None else store.FileOutput(out, _is_instance, force=force)
    found: WorstCase | Theorem1 | Construction
    if theorem is None:
        shape = _shape(ports, flows, packets, slots, max_weight)
        metric = _metric(weighted)
        found = bigswitch.search(
            policy, steps=steps, restarts=restarts, metric=metric, seed=seed, **shape
        )
        proven = found.proven if ports == 1 else None
        lines = [f"{policy}: {_what(weighted)} {found.value:.4f} times the exact optimum"]
        lines.append(f"worst of {found.tried:,} instances searched")
        bound = "no bound is proven" if proven is None else f"proven bound {proven}"
        lines.append(f"{bound}; {found.violations} instances above it" if proven else bound)
    else:
        found, lines = _construct(policy, theorem, n, factor)
    if place is not None:
        if found.instance is None:
            raise SpecError(
                "--out", "the instance has more than 100,000 flows, the most that are saved"
            )
        place.write(json.dumps(found.instance.to_dict(), indent=1) + "\n")
    if as_json:
        return show_json(found.to_dict())
    if found.instance is not None and len(found.instance.flows) <= 20:
        lines += map(_flow, found.instance.names, found.instance.flows)
    show(Text("\n".join(lines)))


def _is_instance(content: bytes) -> bool:
    """Whether a file holds an instance."""
    try:
        value = json.loads(content)
    except ValueError:
        return False
    return isinstance(value, dict) and "flows" in value


def _construct(
    policy: str, theorem: int, n: int, factor: int
) -> tuple[Theorem1 | Construction, list[str]]:
    """A proof's construction, and what to say of it."""
    if theorem == 1:
        found = proofs.theorem1(policy, n, stream=factor)
        return found, [
            f"{policy}: FCT at least {found.ratio:.4f} times the optimum",
            f"{found.still_active} of {n} flows of {found.size:,} packets are still active "
            f"when a better schedule has 1; {found.packets:,} packets in all",
            f"the proof: at least (n + 1) / 2 = {(n + 1) / 2:g} in the limit",
        ]
    if theorem == 3:
        instance = proofs.theorem3(n, factor=factor)
    elif theorem == 6:
        instance = proofs.theorem6(n, policy, factor=factor)
    else:
        raise SpecError("--theorem", f"{theorem} is not 1, 3 or 6")
    compared = proofs.against(policy, instance)
    best = compared.optimum
    return compared, [
        f"{policy}: FPT {compared.value:.4f} times the optimum ({best.label}, by {best.method})",
        f"the theorem: at least n / 2 = {n / 2:g} for fifo (3) or pias (6)",
    ]


@group.command(epilog=examples("fctlab bigswitch draw figure-3 --out schedule.png"))
def draw(
    instance: InstanceFile,
    policy: Policies = None,
    weighted: Weighted = False,
    title: Annotated[str, typer.Option(help="Above the schedules.")] = "",
    out: Annotated[Path, typer.Option(parser=output, help="A .png, .svg or .pdf file.")] = Path(
        "schedule.png"
    ),
    force: Force = False,
) -> None:
    """Draw schedules slot by slot; the policy opt is an optimal one."""
    if out.suffix not in (".png", ".svg", ".pdf"):
        raise SpecError("--out", f"{out} is no .png, .svg or .pdf file")
    from fctlab.results.drawing import is_ours

    # Older ones do not name fctlab.
    place = store.FileOutput(out, lambda old: is_ours(old) or b"atplotlib" in old, force=force)
    chosen = policy or _OF_FIGURES.get(instance, [*DEFAULT, "opt"])
    choices.check_distinct("--policy", chosen)
    figure = draw_schedules(instance, chosen, _metric(weighted), title)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=150, format=out.suffix.removeprefix("."))
    place.write(drawn.getvalue())
    say(f"saved in {out}")


_OF_FIGURES = {
    "figure-1": ["fifo", "brr", "las", "asrpt", "opt"],
    "figure-2": ["las", "fifo", "asrpt", "opt"],
    "figure-3": ["srpt", "asrpt", "opt"],
}


@group.command(name="policies", epilog=examples("fctlab bigswitch policies"))
def list_policies(as_json: AsJson = False) -> None:
    """List the policies."""
    found = bigswitch.policies()
    if as_json:
        return show_json({"policies": found})
    table = _table("policy", "what goes first")
    table.columns[1].justify = "left"
    for row in found:
        table.add_row(row["name"], row["description"])
    show(table)


def _metric(weighted: bool) -> Metric:
    return "weighted_fpt" if weighted else "fpt"


def _what(weighted: bool) -> str:
    return "weighted FPT" if weighted else "FPT"


def _shape(ports: int, flows: int, packets: int, slots: int, weight: int) -> dict[str, Any]:
    for name, value in (
        ("--ports", ports),
        ("--flows", flows),
        ("--packets", packets),
        ("--slots", slots),
        ("--max-weight", weight),
    ):
        if value < 1:
            raise SpecError(name, f"{value} is not at least 1")
    if packets < flows:
        raise SpecError("--packets", f"{packets} is less than the {flows} flows")
    return {
        "ingress": ports,
        "egress": ports,
        "flows": flows,
        "packets": packets,
        "slots": slots,
        "weight": weight,
    }


def _how(best: Optimum) -> str:
    """What an optimum is worth."""
    return f"{best.label.replace('-', ' ')}, by {best.method}"


def _flow(name: str, flow: Flow) -> str:
    """A flow on a line."""
    packets = [
        f"{p[1]} in slot {p[0]}" if isinstance(p, tuple) else f"1 in slot {p}" for p in flow.packets
    ]
    told = flow.to_dict()
    more = [f"{key} {told[key]}" for key in ("ingress", "egress", "weight") if key in told]
    return f"  {name}: packets {', '.join(packets)} {', '.join(more)}".rstrip()


def _ends_title(instance: Instance) -> str:
    names = instance.names
    return f"slot in which {', '.join(names)} end" if len(names) <= 8 else "slots of ends"


def _ends(ends: Sequence[int]) -> str:
    shown = ", ".join(map(str, ends[:8]))
    return shown if len(ends) <= 8 else f"{shown}, ... ({len(ends)} flows)"


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    return table
