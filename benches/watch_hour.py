"""An hour of a fabric that `fctlab fabric watch` watches: epochs, and a shift of the workload.

Each epoch has a seed of its own, so its flows are new; a part of it is simulated. Its flows become
a log, with ends, which watch reads; weights that it writes are in force from the next epoch on.
Packets are the truth of the epochs around the shift, with the weights that were in force.

    python benches/watch_hour.py --epochs 120 --shift 60 --around 20 --out results/hour
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fctlab.fabric import judging, weights, windows
from fctlab.fabric.asked import Asked, load
from fctlab.fabric.watching import Watch
from fctlab.results.result import simulate
from fctlab.scenario import Scenario

EPOCH_S = 30.0
SLIS = {
    "tail": [{"name": "tail", "metric": "p99"}],
    "average": [{"name": "average", "metric": "mean"}],
}
CLASSES: tuple[tuple[str, object, int, str, str], ...] = (
    ("rpc", {"kind": "uniform", "sizes": ["2KB", "10KB", "30KB"]}, 34, "tail", "tail < 4"),
    ("web", "websearch", 18, "average", "average < 4.5"),
    ("backup", {"kind": "fixed", "size": "1MB"}, 10, "average", "average < 6"),
)
BEFORE = (0.02, 0.18, 0.14)
"""Loads of the classes."""
AFTER = (0.08, 0.3, 0.06)


@dataclass
class Epoch:
    """What became of an epoch.

    Attributes:
        number: from 0.
        shifted: whether the workload had shifted.
        weights: in force.
        at_risk: as watch says.
        proposed: weights for the next epochs.
        fluid: the largest loss of a class, on the fluid.
        packets: the same on packets; ``None`` where they were not run.
        seconds: that watch took.
    """

    number: int
    shifted: bool
    weights: tuple[int, ...]
    at_risk: bool
    proposed: tuple[int, ...] | None
    fluid: float | None
    packets: float | None
    seconds: float


def scenario(loads: tuple[float, ...], seconds: float, racks: int = 4) -> dict[str, Any]:
    """The fabric, with classes of these loads."""
    classes = [
        {
            "class": name,
            "workload": sizes,
            "load": load_,
            "dscp": [dscp],
            "slis": SLIS[sli],
            "slo": slo,
        }
        for (name, sizes, dscp, sli, slo), load_ in zip(CLASSES, loads, strict=True)
    ]
    wfq = {"discipline": {"kind": "wfq", "weights": [1, 1, 1]}}
    return {
        "name": "an hour",
        "engine": "fluid",
        "topology": {
            "kind": "leaf-spine",
            "leaves": racks,
            "spines": 2,
            "hosts_per_leaf": 8,
            "host_rate": "10Gbps",
            "fabric_rate": "20Gbps" if racks > 2 else "40Gbps",
            "base_rtt": "20us",
        },
        "traffic": {"duration": f"{round(seconds * 1e6)}us", "classes": classes},
        "scheme": {"preset": "dctcp-rate", "port": wfq, "nic": wfq},
    }


def hour(
    folder: Path,
    *,
    epochs: int,
    shift: int,
    around: int,
    seconds: float,
    racks: int = 4,
) -> Iterator[Epoch]:
    """Live through epochs.

    Args:
        folder: of logs and of what watch writes.
        epochs: how many.
        shift: the first with the new workload.
        around: epochs that packets run, as many before the shift as from it on.
        seconds: of each epoch that are simulated.
        racks: of 8 hosts.
    """
    logs = folder / "logs"
    logs.mkdir(parents=True)
    watch = Watch(logs, scenario(BEFORE, seconds, racks), folder / "watched")
    force: dict[str, Any] = {}
    for number in range(epochs):
        shifted = number >= shift
        tables = scenario(AFTER if shifted else BEFORE, seconds, racks) | force
        tables["seed"] = 1 + number
        asked, on_packets = load(tables), None
        if shift - around // 2 <= number < shift + around - around // 2:
            truth = load(tables, engine="packet")
            run = windows.run(truth, [truth.seed])
            on_packets = max(each.loss or 0.0 for each in judging.judge(truth, run))
        log = logs / f"epoch-{number:03}.csv"
        _write(asked, log, number * EPOCH_S)
        begin = time.perf_counter()
        found = watch.judge(log)
        took = time.perf_counter() - begin
        yield Epoch(
            number=number,
            shifted=shifted,
            weights=weights.today(asked)["port"],
            at_risk=found.at_risk,
            proposed=found.proposed,
            fluid=max(each.loss or 0.0 for each in found.classes),
            packets=on_packets,
            seconds=took,
        )
        if found.specification:
            force = {"scheme": json.loads(Path(found.specification).read_text())["scheme"]}


def _write(asked: Asked, log: Path, begin_s: float) -> None:
    """The log of an epoch: nothing in it that no exporter has."""
    import polars as pl

    codes: Mapping[str, int] = {each.name: each.dscp[0] for each in asked.classes}
    flows = simulate(Scenario(asked.tables).resolve(), None, lambda _: None).flows
    flows.select(
        (pl.col("start_s") + begin_s).alias("start_s"),
        (pl.col("start_s") + pl.col("fct_s") + begin_s).alias("end_s"),
        pl.col("size_bytes").alias("bytes"),
        "src",
        "dst",
        pl.col("traffic_class").cast(pl.String).replace_strict(codes).alias("dscp"),
    ).write_csv(log, float_precision=9)


def main() -> None:
    """Print a line per epoch, and how soon the shift was answered."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=120)
    parser.add_argument("--shift", type=int, default=60)
    parser.add_argument("--around", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--out", type=Path, help="keep logs and answers there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.out or Path(temporary)
        sizes = {key: getattr(given, key) for key in ("epochs", "shift", "around", "seconds")}
        lived = []
        for each in hour(folder, **sizes):
            lived.append(each)
            print(json.dumps(asdict(each)), flush=True)
    print(summary(lived, given.shift))


def summary(lived: list[Epoch], shift: int) -> str:
    """How soon the shift was answered, and what packets say before and after."""
    answers = [each.number for each in lived if each.shifted and each.proposed]
    plans = sum(each.at_risk for each in lived)
    met = [each for each in lived if each.packets is not None]
    first = min((n for n in answers), default=None)
    after = [each for each in met if first is not None and each.number > first]
    before = [each for each in met if each.number < shift]
    lines = [
        f"shift at epoch {shift}; weights that answer it are in force from epoch "
        f"{'never' if first is None else first + 1}",
        f"plans: {plans} of {len(lived)} epochs; "
        f"weights changed {sum(each.proposed is not None for each in lived)} times",
        f"packets meet every SLO: {sum((e.packets or 0) <= 0 for e in before)} of {len(before)} "
        f"epochs before the shift, {sum((e.packets or 0) <= 0 for e in after)} of {len(after)} "
        "with the weights that answer it",
        f"watch took {max(e.seconds for e in lived):.1f} s an epoch at most, "
        f"{sum(e.seconds for e in lived) / len(lived):.1f} s on average",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
