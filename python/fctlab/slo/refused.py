"""Logs whose rows are no flows, and why: sFlow, flow logs of clouds, sampled flow records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fctlab.errors import SpecError

if TYPE_CHECKING:
    from fctlab.slo.logfile import Table

SFLOW = (
    "is of sFlow (RFC 3176), which samples one packet in many: most short flows are not in it, and "
    "no flow's size is; use flow records (NetFlow, IPFIX) or Zeek"
)
VPC = (
    "is a VPC flow log: a row is what passed in a window of seconds to minutes, often of a sample "
    "of packets, and neither a flow's start nor its size; use a log that hosts or taps write"
)
SAMPLED = "{rate}: records are of sampled packets, one in so many, and sizes are no flow's"
CLOUDS = (
    {"version", "account_id", "interface_id"},
    {"interface_id", "log_status"},
    {"reporter", "bytes_sent"},
    {"jsonpayload", "resource"},
    {"flowlogversion", "flowrecords"},
)
"""Columns that flow logs of AWS (two), Google Cloud (two) and Azure have and others have not."""
SFLOW_FIRST = ("FLOW", "CNTR")
"""How lines of ``sflowtool -l`` begin; there is no line of names."""
SFLOW_NAMES = ({"datagramsourceip"}, {"samplingrate", "samplepool"}, {"meanskipcount"})
RATES = {
    *("samplinginterval", "samplingpacketinterval", "samplingrate", "sampling_interval"),
    *("sampling_rate", "samplerrandominterval", "flowsamplerrandominterval"),
}
"""Columns that say one packet of how many was seen (IPFIX elements 34, 50 and 305)."""


def check(file: object, names: Sequence[str]) -> None:
    """Refuse logs by the names of their columns.

    Raises:
        SpecError: with the reason.
    """
    words = {
        word.casefold().replace("-", "_") for name in names for word in re.split(r"[\s.]", name)
    }
    if (names[:1] and names[0] in SFLOW_FIRST) or any(each <= words for each in SFLOW_NAMES):
        raise SpecError(str(file), SFLOW)
    if any(each <= words for each in CLOUDS):
        raise SpecError(str(file), VPC)


def rates(names: Sequence[str]) -> list[str]:
    """Columns to load for `unsampled`."""
    return [name for name in names if name.strip().casefold() in RATES]


def unsampled(table: Table, columns: Sequence[str]) -> None:
    """Refuse records of sampled packets.

    Raises:
        SpecError: the first of them, with its line.
    """
    import polars as pl

    for name in columns:
        text = table.rows[name].cast(pl.String).str.strip_chars()
        sampled = (text.cast(pl.Float64, strict=False) > 1).fill_null(False).arg_true()
        if len(sampled):
            row = int(sampled[0])
            said = SAMPLED.format(rate=text[row])
            raise SpecError(str(table.file), f"{table.place(row)}, column {name}: {said}")
