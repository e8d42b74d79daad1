"""Random fabrics whose SLOs are near what they achieve: are plans and predictions true on packets?

Each has 32 to 64 hosts, two or three classes, and SLOs that the fluid misses or meets by up to a
quarter under equal weights. It is predicted as it is, and it is planned. Packets judge both, on
flows that neither has seen. Finished fabrics are lines of the file, and are not run again.

    python benches/random_fabrics.py --fabrics 50 --out results/random-fabrics.jsonl

With ``--docs PAGE`` the table is written between the lines ``<!-- begin random-fabrics -->`` and
``<!-- end random-fabrics -->`` of a page.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fctlab import fabric, jobs
from fctlab.fabric.types import ClassFound, Verification
from fctlab.studies.framework.docs import between

RACKS, HOSTS = (4, 8), 8
RATES_GBPS = {10: "20us", 25: "16us", 100: "10us"}
"""Base RTTs, by rates of hosts."""
LOADS = (0.25, 0.5)
"""Of the hosts' links."""
MARGINS = (-0.1, 0.25)
"""By so much SLOs are above what the fluid has under equal weights."""
NEAR = 0.15
"""An SLO that is met by less is near."""
CLASSES: tuple[tuple[str, object, str, tuple[float, float]], ...] = (
    ("rpc", {"kind": "uniform", "sizes": ["2KB", "10KB", "30KB"]}, "p99", (0.1, 0.3)),
    ("web", "websearch", "mean", (0.4, 0.8)),
    ("backup", {"kind": "fixed", "size": "1MB"}, "mean", (0.2, 0.5)),
)
"""Workloads, what is measured, and between which shares of the load they are drawn."""
FLOWS = 12_000
WINDOWS = (3, 6, 12, 24)
"""Of packets, one number after the other while they leave open what the fluid does not."""


def drawn(number: int) -> dict[str, Any]:
    """A fabric with classes and without SLOs."""
    rng = np.random.default_rng(number)
    racks = int(rng.integers(RACKS[0], RACKS[1] + 1))
    gbps = int(rng.choice(list(RATES_GBPS)))
    over = float(rng.choice([1.0, 1.5, 2.0]))
    spines = 4
    # Above one, links to spines carry more than hosts' links do.
    load = float(rng.uniform(*LOADS)) / over
    count = int(rng.integers(2, len(CLASSES) + 1))
    kept = sorted(rng.choice(len(CLASSES), size=count, replace=False))
    raw = [float(rng.uniform(*CLASSES[k][3])) for k in kept]
    classes = [
        {
            "class": CLASSES[k][0],
            "workload": CLASSES[k][1],
            "share": round(share / sum(raw), 4),
            "dscp": [10 + 8 * int(k)],
            "slis": [{"name": "value", "metric": CLASSES[k][2]}],
        }
        for k, share in zip(kept, raw, strict=True)
    ]
    classes[-1]["share"] = round(1 - sum(each["share"] for each in classes[:-1]), 4)
    weights = {"kind": "wfq", "weights": [1] * count}
    return {
        "name": f"random {number}",
        "engine": "fluid",
        "seed": number,
        "topology": {
            "kind": "leaf-spine",
            "leaves": racks,
            "spines": spines,
            "hosts_per_leaf": HOSTS,
            "host_rate": f"{gbps}Gbps",
            "fabric_rate": f"{gbps * HOSTS / spines / over:g}Gbps",
            "base_rtt": RATES_GBPS[gbps],
        },
        "traffic": {"load": round(load, 4), "flows": FLOWS, "classes": classes},
        "scheme": {
            "preset": "dctcp-rate",
            "port": {"discipline": weights},
            "nic": {"discipline": weights},
        },
    }


def with_slos(number: int) -> dict[str, Any]:
    """The same, each class with an SLO near what it has."""
    spec = drawn(number)
    found = fabric.predict(spec, most_windows=2)
    rng = np.random.default_rng((number, 1))
    for each, seen in zip(spec["traffic"]["classes"], found.classes, strict=True):
        bound = seen.slis[0].value * (1 + rng.uniform(*MARGINS))
        each["slo"] = f"value < {bound:.3g}"
    return spec


def judged(number: int) -> dict[str, Any]:
    """What becomes of a fabric."""
    spec = with_slos(number)
    predicted = fabric.predict(spec)
    truth = on_packets(spec, predicted.classes)
    planned = fabric.plan(spec)
    verified = on_packets(planned.scenario, planned.classes, planned.verified)
    return {
        "fabric": number,
        "engine": jobs.engine(),
        "topology": spec["topology"],
        "predicted": _told(predicted.classes),
        "packets": _told(truth.classes),
        "weights": planned.weights,
        "planned": _told(planned.classes),
        "advice": planned.advice,
        "verified": _told(verified.classes),
        "windows": [len(each.windows) for each in (truth, verified)],
        "cpu_s": [predicted.runs.cpu_s, truth.runs.cpu_s, planned.runs.cpu_s],
    }


def on_packets(
    spec: dict[str, Any], says: Sequence[ClassFound], first: Verification | None = None
) -> Verification:
    """What packets have, in more windows while it is open what the fluid says is not."""
    found = first or fabric.verify(spec, count=WINDOWS[0], most_windows=1)
    for count in WINDOWS[1:]:
        if count <= len(found.windows):
            continue
        both = zip(says, found.classes, strict=True)
        if not any(b.verdict == "undecided" != a.verdict for a, b in both):
            break
        found = fabric.verify(spec, count=count, most_windows=1)
    return found


def _told(classes: Sequence[ClassFound]) -> list[dict[str, Any]]:
    return [
        {
            "class": each.name,
            "verdict": each.verdict,
            "loss": each.loss,
            "value": each.slis[0].value,
        }
        for each in classes
    ]


def pairs(rows: Iterable[Mapping[str, Any]], fluid: str, packets: str) -> Iterator[tuple[Any, Any]]:
    """Of every class what the fluid said, and packets."""
    for row in rows:
        yield from zip(row[fluid], row[packets], strict=False)


def told(rows: Sequence[Mapping[str, Any]]) -> str:
    """What came of them, as Markdown."""
    engines = Counter(row["engine"] for row in rows)
    each = ", ".join(f"{count} on engine {name}" for name, count in engines.most_common())
    lines = [
        f"{len(rows)} fabrics, {each}:",
        "",
        "| the fluid says | classes | by less than "
        f"{NEAR:.0%} | met on packets | undecided | violated | value within the SLO |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for fluid, packets in (("predicted", "packets"), ("planned", "verified")):
        for verdict in ("met", "violated"):
            both = [b for a, b in pairs(rows, fluid, packets) if a["verdict"] == verdict]
            counts = Counter(each["verdict"] for each in both)
            cells = (
                f"{fluid} as {verdict}",
                len(both),
                sum(abs(each["loss"]) < NEAR for each in both),
                *(counts[each] for each in ("met", "undecided", "violated")),
                sum(each["loss"] <= 0 for each in both),
            )
            lines.append(f"| {' | '.join(map(str, cells))} |")
    whole = [row for row in rows if all(each["verdict"] == "met" for each in row["planned"])]
    kept = sum(all(each["loss"] <= 0 for each in row["verified"]) for row in whole)
    lines += [
        "",
        f"Of {len(whole)} fabrics planned as met in every class {kept} have every value within its "
        f"SLO on packets. {sum(row['advice'] for row in rows)} of {len(rows)} got advice. "
        f"CPU seconds of a fabric, on average: {_mean_s(rows, 0):.1f} predicted, "
        f"{_mean_s(rows, 2):.1f} planned and verified, {_mean_s(rows, 1):.1f} on packets. "
        f"These had more than {WINDOWS[0]} windows in {_longer(rows, 0)} fabrics as they are, and "
        f"in {_longer(rows, 1)} with planned weights; {_most(rows)} at most.",
    ]
    return "\n".join(lines)


def _mean_s(rows: Sequence[Mapping[str, Any]], which: int) -> float:
    return float(np.mean([row["cpu_s"][which] for row in rows]))


def _longer(rows: Sequence[Mapping[str, Any]], which: int) -> int:
    return sum(row["windows"][which] > WINDOWS[0] for row in rows)


def _most(rows: Sequence[Mapping[str, Any]]) -> int:
    return max(max(row["windows"]) for row in rows)


def main() -> None:
    """Run what is not in the file, and tell what came of all."""
    asked = argparse.ArgumentParser(description="Random fabrics: plans and predictions on packets.")
    asked.add_argument("--fabrics", type=int, default=50)
    asked.add_argument("--out", type=Path, default=Path("results/random-fabrics.jsonl"))
    asked.add_argument("--docs", type=Path, help="Write the table into this page.")
    args = asked.parse_args()
    lines = args.out.read_text().splitlines() if args.out.exists() else []
    rows = [json.loads(line) for line in lines]
    known = {row["fabric"] for row in rows}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, args.fabrics + 1):
        if number in known:
            continue
        rows.append(judged(number))
        with args.out.open("a") as file:
            file.write(json.dumps(rows[-1]) + "\n")
    table = told(rows)
    if args.docs:
        text = args.docs.read_text(encoding="utf-8")
        args.docs.write_text(between(text, "random-fabrics", table), encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
