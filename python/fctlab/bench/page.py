"""The tables of ``docs/evidence/scale.md`` and ``performance.md``, so that nobody types a number.

``fctlab bench scale --write docs/evidence/scale.md`` measures and writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fctlab.bench import parallel
from fctlab.errors import SpecError
from fctlab.results.drafts import write_whole

BEGIN, END = "<!-- begin measured -->\n", "<!-- end measured -->"
AREAS = ("scale", "packet", "model")
"""Of which there are tables."""


@dataclass(frozen=True)
class Study:
    """A run that somebody might want."""

    hosts: int
    gbps: float
    """Of each host."""
    seconds: float
    """Of simulated time."""


LARGEST = Study(hosts=65_535, gbps=400, seconds=60)
MODEST = Study(hosts=1_024, gbps=100, seconds=0.1)
MEASURED_GBPS = 10
"""The hosts of the bench."""


@dataclass(frozen=True)
class Cost:
    """What a study costs."""

    packet_hops: float
    core_hours: float
    memory_bytes: float
    storage_bytes: float


def cost(study: Study, found: Mapping[str, float], size: int) -> Cost:
    """The cost of a study at the load and with the workload of the bench.

    A host that is so many times as fast starts as many times as many flows, which take as much
    less time: flows in flight per host stay.

    Args:
        study: its hosts, rate and length.
        found: value by name, of the bench.
        size: the fabric whose speed, memory and path lengths count, by hosts.
    """
    prefix = f"scale.hosts_{size}"
    host_seconds = study.hosts * study.seconds * study.gbps / MEASURED_GBPS
    hops = found[f"{prefix}.packet_hops_per_host_s"] * host_seconds
    flows = found[f"{prefix}.flows_per_host_s"] * host_seconds
    in_flight = found[f"{prefix}.flows_in_flight"] / size
    per_host = found[f"{prefix}.bytes_per_host"]
    per_host += in_flight * found[f"{prefix}.bytes_per_flow_in_flight"]
    return Cost(
        packet_hops=hops,
        core_hours=hops / found[f"{prefix}.packet_hops_per_cpu_s"] / 3600,
        memory_bytes=per_host * study.hosts,
        storage_bytes=flows * found[f"{prefix}.bytes_per_record"],
    )


def write(file: Path, rows: Iterable[Mapping[str, object]], area: str = "scale") -> None:
    """Writes the tables between the two lines of a page.

    Args:
        file: the page.
        rows: of ``fctlab bench AREA``, in full.
        area: one of :data:`AREAS`; of ``scale`` the lines say ``measured``, else the area.

    Raises:
        SpecError: a page without these lines, or an area without tables.
    """
    if area not in AREAS:
        raise SpecError("write", f"{area} has no tables; these have: {', '.join(AREAS)}")
    begin, end = (line.replace("measured", _name(area)) for line in (BEGIN, END))
    text = file.read_text(encoding="utf-8")
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SpecError("write", f"{file}: no lines {begin.strip()} and {end}")
    made = _scale(rows) if area == "scale" else _plain(area, rows)
    write_whole(file, f"{before}{begin}\n{made}\n{end}{after}")


def _name(area: str) -> str:
    return "measured" if area == "scale" else area


def _scale(rows: Iterable[Mapping[str, object]]) -> str:
    return tables({str(row["name"]): float(str(row["value"])) for row in rows})


def _plain(area: str, rows: Iterable[Mapping[str, object]]) -> str:
    """A row per benchmark."""
    lines = (
        (str(row["name"]), _digits(float(str(row["value"]))), str(row["unit"]), str(row["note"]))
        for row in rows
    )
    return _table(f"fctlab bench {area}", ("benchmark", "value", "unit", "how"), lines)


def tables(found: Mapping[str, float]) -> str:
    """The tables, as Markdown.

    Args:
        found: value by name, of the bench.
    """
    sizes = sorted(
        int(name.split(".")[1].removeprefix("hosts_"))
        for name in found
        if name.endswith(".of_smallest")
    )
    parts = [_sizes(found, sizes), _studies(found, sizes), _ports(found), _cores(found, sizes)]
    return "\n".join(parts)


def _sizes(found: Mapping[str, float], sizes: list[int]) -> str:
    rows = []
    for size in sizes:
        of = {
            key: found[f"scale.hosts_{size}.{key}"]
            for key in ("of_smallest", "bytes_per_host", "bytes_per_flow_in_flight")
        }
        speed = found[f"scale.hosts_{size}.packet_hops_per_cpu_s"]
        cells = (
            f"{speed / 1e6:.2f}",
            f"{of['of_smallest']:.2f}",
            f"{of['bytes_per_host']:,.0f}",
            f"{of['bytes_per_flow_in_flight']:,.0f}",
        )
        rows.append((f"{size:,}", *cells))
    header = (
        "hosts",
        "million packet-hops per CPU second",
        "of the smallest",
        "bytes per host",
        "bytes per flow in flight",
    )
    return _table("How fast one core is", header, rows)


def _studies(found: Mapping[str, float], sizes: list[int]) -> str:
    rows = []
    for study in (MODEST, LARGEST):
        size = max((s for s in sizes if s <= study.hosts), default=sizes[0])
        paid = cost(study, found, size)
        what = f"{study.hosts:,} hosts, {study.gbps:g} Gbps, {study.seconds:g} s"
        cells = (
            f"{paid.packet_hops:.1e}",
            f"{paid.core_hours:,.1f}",
            f"{paid.memory_bytes / 1e9:,.2f} GB",
            f"{paid.storage_bytes / 1e9:,.2f} GB",
        )
        rows.append((what, *cells))
    header = ("one run", "packet-hops", "core hours", "memory", "flow records")
    return _table("What a study costs", header, rows)


def _ports(found: Mapping[str, float]) -> str:
    names = [name.split(".")[1] for name in found if name.endswith(".of_fifo")]
    rows = (
        (
            name,
            f"{found[f'scale.{name}.packet_hops_per_cpu_s'] / 1e6:.2f}",
            f"{found[f'scale.{name}.of_fifo']:.2f}",
            _whole(found.get(f"scale.{name}.instructions_per_hop")),
        )
        for name in names
    )
    header = (
        "discipline",
        "million packet-hops per CPU second",
        "of FIFO",
        "instructions per packet-hop",
    )
    return _table("Ports that choose", header, rows)


def _digits(value: float) -> str:
    """Four digits that count."""
    shown = f"{value:.4g}"
    return f"{float(shown):,.0f}" if value >= 1000 else shown


def _whole(value: float | None) -> str:
    return "not counted" if value is None else f"{value:,.0f}"


def _cores(found: Mapping[str, float], sizes: list[int]) -> str:
    rows = (
        (
            f"{size:,}",
            f"{delay:g} us",
            *(
                _gain(found[f"scale.hosts_{size}.delay_{delay:g}us.cores_{n}.gain"])
                for n in parallel.CORES
            ),
        )
        for size in sizes
        for delay in parallel.DELAYS_US
    )
    header = ("hosts", "link delay", *(f"{n} cores" for n in parallel.CORES))
    predicted = _table("One simulation on many cores: predicted gain", header, rows)
    two = (
        (
            f"{size:,}",
            f"{delay:g} us",
            *(
                f"{found[f'scale.hosts_{size}.delay_{delay:g}us.threads_2.{key}']:.2f}"
                for key in ("gain", "of_two_runs")
            ),
        )
        for size in sizes
        for delay in parallel.DELAYS_US
    )
    header = ("hosts", "link delay", "gain", "of two runs side by side")
    measured = _table("One simulation on two threads: measured", header, two)
    return f"{predicted}\n{measured}\n{_verdict(found)}\n"


def _verdict(found: Mapping[str, float]) -> str:
    """Whether that pays, by the rule."""
    hosts = f"scale.hosts_{parallel.RULE_HOSTS}"
    shares = [found[f"{hosts}.delay_{d:g}us.threads_2.of_two_runs"] for d in parallel.DELAYS_US]
    told = " and ".join(
        f"{share:.2f} ({delay:g} us)"
        for share, delay in zip(shares, parallel.DELAYS_US, strict=True)
    )
    rule = f"{parallel.RULE_SHARE:g}"
    says = "pays" if min(shares) >= parallel.RULE_SHARE else "does not pay everywhere"
    return (
        f"Two threads at {parallel.RULE_HOSTS:,} hosts give {told} of what two runs give. "
        f"The rule is {rule}: it {says}."
    )


def _gain(value: float) -> str:
    """A gain, as far as it is more than noise."""
    return f"{value:.3g}" if value >= 10 else f"{value:.2f}"


def _table(title: str, header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join([f"**{title}**", "", *(f"| {' | '.join(line)} |" for line in lines), ""])
