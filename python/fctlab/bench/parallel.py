"""What one simulation would gain from many cores: counted and predicted, not built.

Conservative parallel simulation cuts the fabric into partitions, one per core. Nothing that a
partition does reaches another one sooner than the least link delay plus the least transmission time
later, a *window*; so all cores do the events of one window, hand over the packets that crossed,
wait for the last core and go on with the next. How long a window takes follows from the most events
that any partition has in it. These are counted in the sequential engine: its recorder of ports, a
probe, says for each window how many packets each link delivered.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Collection, Iterator
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

RULE_HOSTS, RULE_GAIN = 1_024, 1.6
"""With less for two cores there it is not worth building."""

HANDOVER_S = 100e-9
"""A packet that crosses: its cache line, and one of the list that names it, go to another core."""
BARRIER_S = 200e-9
"""A meeting of two cores; of N it takes log2 N times as long."""

WARMUP_US = 40.0
"""Until the network is as full as it gets, beyond ten round trips of the longest path."""
ROUND_TRIPS, LINKS = 10, 6
WORKLOAD = {"kind": "fixed", "size": "15KB"}
"""Short flows, so that the load is there soon."""
LEAST_BYTES = 40
"""An ACK."""


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


def count(scenario: Scenario, delay_us: float, windows: int) -> dict[int, Counted]:
    """Events and crossing packets by window and partition, for each number of cores.

    Args:
        scenario: a fabric of :mod:`fctlab.bench.scale`.
        delay_us: of each link.
        windows: in which they are counted.
    """
    import polars as pl

    topology = scenario.resolve()["topology"]
    kept = {key: value for key, value in topology.items() if key not in ("base_rtt", "host_delay")}
    rates = [float(str(kept[key]).removesuffix("Gbps")) for key in kept if key.endswith("_rate")]
    window_us = delay_us + LEAST_BYTES * 8 / (max(rates) * 1e3)
    warmup = math.ceil((WARMUP_US + ROUND_TRIPS * 2 * LINKS * delay_us) / window_us)
    counted = (
        scenario.set("topology", {**kept, "link_delay": f"{delay_us}us"})
        .set("traffic.workload", WORKLOAD)
        .set("record.ports", {"interval": f"{round(window_us * 1e6)}ps"})
        .set("measure.max_time", f"{round((warmup + windows) * window_us * 1e6)}ps")
    )
    with tempfile.TemporaryDirectory() as folder:
        alone(
            counted.resolve().tables,
            flows_out=Path(folder) / "flows.parquet",
            recordings_out=Path(folder),
        )
        file = Path(folder) / "port_series.parquet"
        columns = ("time_s", "port", "packets")
        late = pl.col("time_s") > (warmup + 0.5) * window_us * 1e-6
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
    say: Callable[[str], None],
) -> Iterator[dict[str, Any]]:
    """Rows of the bench: the gain for each fabric, link delay and number of cores.

    Args:
        fabric: the scenario of so many hosts.
        speeds: packet-hops per CPU second of one core, by hosts.
        windows: in which events are counted.
        say: told what is going on.
    """
    for hosts, speed in speeds.items():
        for delay in DELAYS_US:
            say(f"{hosts:,} hosts, links of {delay:g} us: counting events by window and partition")
            for cores, counted in count(fabric(hosts), delay, windows).items():
                each = counted.events / len(counted.most) / cores
                share = counted.crossed / counted.events
                yield {
                    "name": f"scale.hosts_{hosts}.delay_{delay:g}us.cores_{cores}.gain",
                    "value": gain(counted, cores, 1 / speed),
                    "unit": "x",
                    "note": f"predicted; {each:,.0f} events per window and partition, "
                    f"{share:.0%} of packet-hops cross",
                }
