"""What one simulation gains from many cores: counted and predicted, and measured on two.

Conservative parallel simulation cuts the fabric into partitions, one per core. Nothing that a
partition does reaches another one sooner than the least link delay later, a *window*; so all cores
do the events of one window, hand over the packets that crossed, wait for the last core and go on
with the next. How long a window takes follows from the most events that any partition has in it.
These are counted on one thread: the recorder of ports, a probe, says for each window how many
packets each link delivered.
"""

from __future__ import annotations

import itertools
import math
import statistics
import tempfile
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fctlab.bench.engine import alone

if TYPE_CHECKING:
    import polars as pl

    from fctlab.scenario import Scenario

CORES = (2, 8, 24, 64)
DELAYS_US = (2.0, 0.2)
"""Of each link."""

RULE_HOSTS, RULE_SHARE = 1_024, 0.75
"""Of what two runs side by side give, two threads must give this much there to be worth having."""

HANDOVER_S = 100e-9
"""A packet that crosses: its cache line, and one of the list that names it, go to another core."""
BARRIER_S = 200e-9
"""A meeting of two cores; of N it takes log2 N times as long."""

WARMUP_US = 40.0
"""Until the network is as full as it gets, beyond ten round trips of the longest path."""
ROUND_TRIPS, LINKS = 10, 6
WORKLOAD = {"kind": "fixed", "size": "15KB"}
"""Short flows, so that the load is there soon."""


@dataclass(frozen=True)
class Counted:
    """What one window holds for one number of partitions."""

    most: list[tuple[int, int]]
    """For each window: events of the partition with most to do, and packets that came to it."""
    events: int
    """In all windows and partitions."""
    crossed: int
    """Packets that went from one partition to another, in all windows."""


def gain(counted: Counted, cores: int, event_s: float) -> float:
    """How many times as fast so many cores are as one.

    Args:
        counted: for as many partitions as cores.
        cores: at least 2.
        event_s: CPU seconds of one packet-hop on one core.
    """
    meeting = BARRIER_S * math.log2(cores)
    longest = sum(events * event_s + came * HANDOVER_S + meeting for events, came in counted.most)
    return counted.events * event_s / longest


def with_delay(scenario: Scenario, delay_us: float) -> Scenario:
    """The same where each link takes so long, and hosts take nothing."""
    topology = scenario.resolve()["topology"]
    kept = {key: value for key, value in topology.items() if key not in ("base_rtt", "host_delay")}
    return scenario.set("topology", {**kept, "link_delay": f"{delay_us}us"})


def count(scenario: Scenario, delay_us: float, windows: int) -> dict[int, Counted]:
    """Events and crossing packets by window and partition, for each number of cores.

    Args:
        scenario: a fabric of :mod:`fctlab.bench.scale`.
        delay_us: of each link.
        windows: in which they are counted.
    """
    import polars as pl

    warmup = math.ceil((WARMUP_US + ROUND_TRIPS * 2 * LINKS * delay_us) / delay_us)
    counted = (
        with_delay(scenario, delay_us)
        .set("traffic.workload", WORKLOAD)
        .set("record.ports", {"interval": f"{round(delay_us * 1e6)}ps"})
        .set("measure.max_time", f"{round((warmup + windows) * delay_us * 1e6)}ps")
    )
    with tempfile.TemporaryDirectory() as folder:
        alone(
            counted.resolve().tables,
            flows_out=Path(folder) / "flows.parquet",
            recordings_out=Path(folder),
        )
        file = Path(folder) / "port_series.parquet"
        columns = ("time_s", "port", "packets")
        late = pl.col("time_s") > (warmup + 0.5) * delay_us * 1e-6
        busy = pl.col("packets") > 0
        series = pl.scan_parquet(file).select(columns).filter(late & busy).collect()
    return {cores: partitioned(series, cores) for cores in CORES}


def partitioned(series: pl.DataFrame, cores: int) -> Counted:
    """Counts from a series of ports.

    Args:
        series: columns ``time_s``, ``port`` (``FROM -> TO``), ``packets`` that reached TO by then.
        cores: partitions; each has about as many switches of each tier, and the hosts of its own.
    """
    import polars as pl

    links = {port: port.split(" -> ") for port in series["port"].unique()}
    part = _parts(links.values(), cores)
    ends = pl.DataFrame(
        {
            "port": list(links),
            "part": [part[to] for _, to in links.values()],
            "crosses": [part[sender] != part[to] for sender, to in links.values()],
        }
    )
    crosses = pl.col("crosses")
    packets = pl.col("packets").cast(pl.Int64)
    by_part = (
        series.join(ends, on="port")
        .group_by("time_s", "part")
        .agg(packets.sum().alias("events"), packets.filter(crosses).sum().alias("came"))
    )
    longest = by_part.group_by("time_s").agg(
        pl.all().sort_by(pl.col("events") + pl.col("came")).last()
    )
    most = list(longest.select("events", "came").iter_rows())
    return Counted(most, int(by_part["events"].sum()), int(by_part["came"].sum()))


def _parts(links: Collection[list[str]], cores: int) -> dict[str, int]:
    """The partition of each node: switches by their place in their tier, hosts by their switch."""
    tiers: dict[str, int] = {}
    numbers = {}
    for node in itertools.chain.from_iterable(links):
        tier, _, number = node.rpartition(" ")
        numbers[node] = (tier, int(number))
        tiers[tier] = max(tiers.get(tier, 0), int(number) + 1)
    part = {
        node: number * cores // tiers[tier]
        for node, (tier, number) in numbers.items()
        if tier != "host"
    }
    for ends in links:
        for host, switch in (ends, ends[::-1]):
            if numbers[host][0] == "host":
                part[host] = part[switch]
    return part


def measure(
    fabric: Callable[[int], Scenario],
    speeds: dict[int, float],
    windows: int,
    simulated: str,
    runs: int,
    say: Callable[[str], None],
) -> Iterator[dict[str, Any]]:
    """Rows of the bench, by fabric and link delay: gains predicted, and measured on two cores.

    Args:
        fabric: the scenario of so many hosts.
        speeds: packet-hops per CPU second of one core, by hosts.
        windows: in which events are counted.
        simulated: time in which two threads are measured.
        runs: of which the median counts.
        say: told what is going on.
    """
    for hosts, speed in speeds.items():
        for delay in DELAYS_US:
            name = f"scale.hosts_{hosts}.delay_{delay:g}us"
            say(f"{hosts:,} hosts, links of {delay:g} us: counting events by window and partition")
            for cores, counted in count(fabric(hosts), delay, windows).items():
                each = counted.events / len(counted.most) / cores
                share = counted.crossed / counted.events
                yield {
                    "name": f"{name}.cores_{cores}.gain",
                    "value": gain(counted, cores, 1 / speed),
                    "unit": "x",
                    "note": f"predicted; {each:,.0f} events per window and partition, "
                    f"{share:.0%} of packet-hops cross",
                }
            say(f"{hosts:,} hosts, links of {delay:g} us: two threads, and two runs side by side")
            scenario = with_delay(fabric(hosts), delay).set("measure.max_time", simulated)
            yield from _two_threads(name, scenario.resolve().tables, runs)


def _two_threads(name: str, scenario: dict[str, Any], runs: int) -> Iterator[dict[str, Any]]:
    """One run on two threads beside two runs, each on its own."""
    found = [_timed(scenario) for _ in range(runs)]
    gains = [alone_s / threads_s for alone_s, threads_s, _ in found]
    shares = [both_s / (2 * threads_s) for _, threads_s, both_s in found]
    for key, values, note in (
        ("gain", gains, "of one thread's speed"),
        ("of_two_runs", shares, "of what two runs side by side simulate in the same time"),
    ):
        spread = f"median of {runs}, {min(values):.2f} to {max(values):.2f}"
        yield {
            "name": f"{name}.threads_2.{key}",
            "value": statistics.median(values),
            "unit": "x",
            "note": f"measured, {note}; {spread}",
        }


def _timed(scenario: dict[str, Any]) -> tuple[float, float, float]:
    """Wall-clock seconds of a run, of the same on two threads, and of two at once."""

    def wall_s(threads: int = 1) -> float:
        with tempfile.TemporaryDirectory() as folder:
            report, _ = alone(scenario, flows_out=Path(folder) / "f.parquet", threads=threads)
        return float(report["perf"]["wall_s"])

    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(wall_s, (1, 1)))
    return wall_s(), wall_s(2), max(both)
