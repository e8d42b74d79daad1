"""How far the link model is from packets: the tables of ``docs/evidence/model-accuracy.md``.

``python -m fctlab.studies.swp.beside docs/evidence/model-accuracy.jsonl --cpu-hours 1`` runs what
the file has no line of, the same flows through both engines, and goes on there when it is started
again. ``... --docs docs/evidence/model-accuracy.md`` writes what the lines say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fctlab.jobs import Told, deaf
from fctlab.slo import planning
from fctlab.studies.framework import evidence
from fctlab.studies.framework.asked import asked
from fctlab.studies.framework.evidence import Evidence
from fctlab.studies.framework.report.markdown import table
from fctlab.studies.swp import accuracy
from fctlab.studies.swp.compared import Compared, compare
from fctlab.studies.swp.readings import Lab

LAB = Lab("full")
MIXES = (*accuracy.ALONE, *accuracy.WEIGHTED)
TWO = accuracy.WEIGHTED[0]
LONG_BDPS = 8
"""From so many BDPs on a flow is long where links differ."""


@dataclass(frozen=True)
class Case:
    """Two classes, or one, on a link.

    Attributes:
        link: with its unit.
        rtt: with its unit.
        controls: of which it is asked, as presets.
        classes: sizes, load and weight of each, by name; one class has a FIFO, several have WFQ.
        flows: of a run.
        seeds: a run each.
    """

    link: str
    rtt: str
    controls: tuple[str, ...]
    classes: Mapping[str, tuple[str, float, int]]
    flows: int
    seeds: tuple[int, ...] = (1, 2)

    @property
    def title(self) -> str:
        """What a row is called."""
        return f"{self.link.replace('Gbps', ' Gbps')}, {self.rtt.replace('us', ' us')}"

    def specification(self, control: str, seed: int) -> dict[str, Any]:
        """What both engines run."""
        rows = [
            {
                "name": name,
                "flowsizes": sizes,
                "interarrivals": {"kind": "lognormal", "sigma": 2.0},
                "load": load,
                "weight": weight,
            }
            for name, (sizes, load, weight) in self.classes.items()
        ]
        given = {
            "network": {"link": self.link, "rtt": self.rtt},
            "seed": seed,
            "queue": "fifo" if len(rows) == 1 else "wfq",
            "cc": control,
            "classes": rows,
        }
        return planning.load(given)


PAIR = {"WebSearch": ("websearch_bytes", 0.3, 1), "Facebook": ("facebook_hadoop_bytes", 0.3, 2)}
BOTH = tuple(own for own, _ in accuracy.SCHEMES.values())
LINKS = (
    Case("100Gbps", "50us", BOTH, PAIR, 40_000),
    Case("50Gbps", "10us", BOTH, PAIR, 40_000),
    Case("40Gbps", "30us", BOTH, PAIR, 40_000),
    Case("40Gbps", "10us", BOTH, PAIR, 40_000),
    Case("25Gbps", "10us", BOTH, PAIR, 40_000),
    Case("10Gbps", "10us", BOTH, PAIR, 40_000),
)
HIGH = tuple(
    Case("100Gbps", "10us", BOTH, {"Facebook": ("facebook_hadoop_bytes", load, 1)}, 30_000)
    for load in (0.7, 0.8, 0.85)
)


@asked("packets beside the model on a link")
def _on_a_link(spec: dict[str, Any], flows: int, told: Told = deaf) -> dict[str, Any]:
    """By class: errors of p99s by size, and of mean and p99 of long flows, as shares."""
    drawn = planning.flows(spec, flows)
    run, _ = planning.replay(spec, drawn, told=told)
    both = {"packet": run["slowdown"].to_numpy(), "windows": drawn["slowdown"].to_numpy()}
    names = drawn["traffic_class"].to_numpy()
    sizes = drawn["size_bytes"].to_numpy().astype(float)
    bdp_bytes = spec["network"]["link_bps"] * spec["network"]["rtt_s"] / 8
    found: dict[str, Any] = {}
    for each in spec["classes"]:
        of = names == each["name"]
        tails = compare(sizes[of], {k: v[of] for k, v in both.items()})
        long = of & (sizes > LONG_BDPS * bdp_bytes)
        model, packets = both["windows"][long], both["packet"][long]
        found[each["name"]] = {
            "tails": (tails.p99["windows"] / tails.p99["packet"] - 1).tolist(),
            "long": float(model.mean() / packets.mean() - 1),
            "long_p99": float(np.quantile(model, 0.99) / np.quantile(packets, 0.99) - 1),
            "flows": int(long.sum()),
        }
    return found


def asking() -> Iterator[tuple[str, Callable[[], object]]]:
    """All runs: a name, and what asks for one."""
    for case in (*LINKS, *HIGH):
        for control in case.controls:
            for seed in case.seeds:
                name = f"{case.title}, {control}, {', '.join(_loads(case))}, seed {seed}"
                yield name, partial(_ask, case, control, seed)
    for mix, load, scheme in accuracy.settings(MIXES):
        name = f"{scheme}, {mix.name}, load {load:g}"
        yield name, partial(accuracy.measured, LAB, mix, load, scheme, 1)


def _ask(case: Case, control: str, seed: int) -> dict[str, Any]:
    return _on_a_link(case.specification(control, seed), case.flows)


def _loads(case: Case) -> list[str]:
    return [f"{name} {load:g}" for name, (_, load, _) in case.classes.items()]


def block(found: Evidence, file: str) -> str:
    """What the lines say, for a page."""
    with found.given():
        parts = [
            f"`python -m fctlab.studies.swp.beside {file} --cpu-hours 1`: {found.cost()}",
            "",
            "**Short flows: p99 slowdown by size, mean error over size bins; largest**",
            "",
            *_by_mix(_tails),
            "",
            "**Flows above 1 MB: mean slowdown of packets; error of the model**",
            "",
            *_by_mix(_means),
            "",
            "**Other links, two classes at 0.3 each: WebSearch of weight 1, Facebook of weight 2**",
            "",
            *_by_link(),
            "",
            "**High load: Facebook alone, FIFO, 100 Gbps, 10 us**",
            "",
            *_by_load(),
        ]
    return "\n".join(parts).rstrip()


def _by_mix(cell: Callable[[Compared], str]) -> list[str]:
    """A row per class of each mix, a column per congestion control and load."""
    columns = [(scheme, load) for scheme in accuracy.SCHEMES for load in accuracy.LOADS]
    rows = []
    for mix in MIXES:
        runs = [accuracy.measured(LAB, mix, load, scheme, 1) for scheme, load in columns]
        for each in mix.classes:
            name = mix.name if len(mix.classes) == 1 else f"{mix.name}: {each.name}"
            rows.append((name, f"{each.weight}", *(cell(run[each.name]) for run in runs)))
    header = ["traffic", "weight", *(f"{scheme}, load {load:g}" for scheme, load in columns)]
    return table(header, rows)


def _tails(one: Compared) -> str:
    errors = np.abs(one.errors("windows"))
    return f"{errors.mean():.1%}; {errors.max():.1%}" if len(errors) else "-"


def _means(one: Compared) -> str:
    return f"{one.mean['packet']:.3g}; {one.long_ratio('windows') - 1:+.1%}" if one.long else "-"


def _by_link() -> list[str]:
    rows = []
    for control in BOTH:
        for case in LINKS:
            spec = case.specification(control, 1)
            packet_bits = 8 * (spec["cc"]["payload_bytes"] + spec["cc"]["header_bytes"])
            bdp = spec["network"]["link_bps"] * spec["network"]["rtt_s"] / packet_bits
            runs = [_ask(case, control, seed) for seed in case.seeds]
            row = [control, case.title, f"{bdp:.0f}", _span(runs, "Facebook", "tails")]
            for name in ("Facebook", "WebSearch"):
                row += [_span(runs, name, "long"), _span(runs, name, "long_p99")]
            rows.append(row)
    header = ["preset", "link, RTT", "BDP (packets)", "Facebook, p99s by size"]
    for name in ("Facebook", "WebSearch"):
        header += [f"{name}, long: mean", f"{name}, long: p99"]
    return table(header, rows)


def _by_load() -> list[str]:
    rows = []
    for control in BOTH:
        for case in HIGH:
            runs = [_ask(case, control, seed) for seed in case.seeds]
            ((_, load, _),) = case.classes.values()
            tails = _span(runs, "Facebook", "tails")
            row = [control, f"{load:g}", f"{_on_the_wire(case, control, load):.2f}", tails]
            rows.append([*row, _span(runs, "Facebook", "long"), _span(runs, "Facebook", "long_p99")])
    header = ["preset", "load", "on the wire", "p99s by size", "long: mean", "long: p99"]
    return table(header, rows)


def _on_the_wire(case: Case, control: str, load: float) -> float:
    cc = case.specification(control, 1)["cc"]
    return load * float(1 + cc["header_bytes"] / cc["payload_bytes"])


def _span(runs: Sequence[Mapping[str, Any]], name: str, what: str) -> str:
    """The least and the largest error over seeds, and bins where there are several."""
    errors = np.concatenate([np.atleast_1d(run[name][what]) for run in runs])
    return f"{errors.min():+.0%} to {errors.max():+.0%}"


PAGE = evidence.Page("python -m fctlab.studies.swp.beside", "model-accuracy", asking, block)

if __name__ == "__main__":
    evidence.command(PAGE)
