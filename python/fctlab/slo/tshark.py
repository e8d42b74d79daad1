"""What tshark prints, as flows: conversations (``-z conv,tcp``) and packets (``-T fields``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

CONVERSATION = re.compile(
    r"(?P<a>\S+?)(?::(?P<ap>\d+))?\s+<->\s+(?P<b>\S+?)(?::(?P<bp>\d+))?\s+"
    r"[\d,]+\s+(?P<to_a>\d[\d,]{,30})(?: (?P<to_a_unit>\w+))?\s+"
    r"[\d,]+\s+(?P<to_b>\d[\d,]{,30})(?: (?P<to_b_unit>\w+))?\s+"
    r"[\d,]+\s+[\d,]+(?: \w+)?\s+(?P<start>\d+(?:\.\d+)?)\s+(?P<lasts>\d+(?:\.\d+)?)"
)
"""Two ends; frames and bytes one way, the other way and in all; start and duration in seconds."""
BYTES = {None: 1, "bytes": 1, "kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
TIMES = ("frame.time_epoch", "frame.time_relative")
PAYLOADS = ("tcp.len", "udp.length", "ip.len", "frame.len")
"""Of a packet, the nearest to what a flow's sender sends first."""
ENDS = {
    "sa": ("ip.src", "ipv6.src"),
    "da": ("ip.dst", "ipv6.dst"),
    "sp": ("tcp.srcport", "udp.srcport"),
    "dp": ("tcp.dstport", "udp.dstport"),
    "stream": ("tcp.stream", "udp.stream"),
}
DSCP = "ip.dsfield.dscp"
NOTE = (
    "sizes are of the way that sent more, with the headers of packets; tshark cuts them to whole "
    "kB and MB (-T fields has them exactly)"
)


def is_conversations(lines: Iterable[str]) -> bool:
    """Whether a text is ``-z conv,...``."""
    return any("Conversations" in line for line, _ in zip(lines, range(3), strict=False))


def conversations(lines: Iterable[str]) -> pl.DataFrame:
    """A flow of each conversation: from who sent more to who sent less."""
    import polars as pl

    rows = []
    for line in lines:
        if found := CONVERSATION.match(line.strip()):
            sizes = {way: _bytes(found[way], found[f"{way}_unit"]) for way in ("to_a", "to_b")}
            ends = [(found["a"], found["ap"]), (found["b"], found["bp"])]
            if sizes["to_a"] > sizes["to_b"]:
                ends.reverse()
            (sa, sp), (da, dp) = ends
            times = float(found["start"]), float(found["lasts"])
            rows.append((*times, max(sizes.values()), sa, da, sp, dp))
    names = ("start_s", "td", "ibyt", "sa", "da", "sp", "dp")
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def _bytes(number: str, unit: str | None) -> float:
    """Bytes of what is cut to whole kB and MB: the middle of what it may be."""
    size = BYTES.get(unit, 1)
    return float(number.replace(",", "")) * size + (size // 2 if size > 1 else 0)


def is_packets(names: Sequence[str]) -> bool:
    """Whether columns are those of ``-T fields`` with a packet in each row."""
    return any(name in names for name in TIMES) and any(name in names for name in PAYLOADS)


def has_ends(names: Sequence[str]) -> bool:
    """Whether columns say of which connection a packet is."""
    return any(name in names for fields in ENDS.values() for name in fields)


def flows(packets: pl.DataFrame) -> pl.DataFrame:
    """A flow of each way of each connection: its first packet, its last, its bytes.

    Args:
        packets: columns of ``-T fields`` as text.
    """
    import polars as pl

    there = packets.columns
    time = next(name for name in TIMES if name in there)
    size = next(name for name in PAYLOADS if name in there)
    keys = []
    for name, fields in ENDS.items():
        known = [pl.col(field) for field in fields if field in there]
        if known:
            keys.append(pl.coalesce(known).alias(name))
    when = pl.col(time).cast(pl.Float64, strict=False)
    read = packets.select(
        *keys,
        *([pl.col(DSCP).alias("dscp")] if DSCP in there else []),
        when.alias("start_s"),
        pl.col(size).cast(pl.Float64, strict=False).fill_null(0.0).alias("ibyt"),
    ).drop_nulls("start_s")
    names = [each for each in ENDS if each in read.columns]
    first = [pl.col("dscp").first()] if "dscp" in read.columns else []
    grouped = read.group_by(names, maintain_order=True).agg(
        pl.col("start_s").min(),
        (pl.col("start_s").max() - pl.col("start_s").min()).alias("td"),
        pl.col("ibyt").sum(),
        *first,
    )
    return grouped.filter(pl.col("ibyt") > 0).drop("stream", strict=False)
