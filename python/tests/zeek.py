"""A ``conn.log`` as Zeek writes it, of packets that tshark has taken apart.

Zeek's program is in no registry that tests install from. Columns and their meaning are those of its
documentation (``base/protocols/conn/main.zeek``): ``ts`` is the time of the first packet,
``duration`` from there to the last one, ``orig_bytes`` and ``resp_bytes`` are payload by sequence
numbers (RFC 9293), so that what is sent twice counts once, and ``missed_bytes`` what of it was in
no packet.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

FIELDS = (
    *("frame.time_epoch", "tcp.stream", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport"),
    *("tcp.seq_raw", "tcp.len", "tcp.flags.syn", "tcp.flags.ack"),
)
"""What tshark prints of each packet."""
COLUMNS = {
    **{"ts": "time", "uid": "string", "id.orig_h": "addr", "id.orig_p": "port"},
    **{"id.resp_h": "addr", "id.resp_p": "port", "proto": "enum", "duration": "interval"},
    **{"orig_bytes": "count", "resp_bytes": "count", "missed_bytes": "count"},
}
ABSENT = "" if shutil.which("zeek") else "Zeek is not here: its conn.log is written by the test"
"""Why its program is not asked."""


@dataclass
class Way:
    """One way of a connection: spans of sequence numbers from the first byte of payload on."""

    first: int | None = None
    spans: list[tuple[int, int]] = field(default_factory=list)

    def saw(self, number: int, length: int, syn: bool) -> None:
        if self.first is None:
            self.first = number + syn
        begin = (number + syn - self.first) % 2**32
        if length:
            self.spans.append((begin, begin + length))

    def sizes(self) -> tuple[int, int]:
        """Bytes up to the last one that was seen, and those that were in no packet."""
        end = missed = 0
        for begin, until in sorted(self.spans):
            missed += max(0, begin - end)
            end = max(end, until)
        return end, missed


@dataclass
class Connection:
    """Two ways; the first one is of who opened it."""

    ends: tuple[str, str, str, str]
    begin: str
    end: str = ""
    ways: tuple[Way, Way] = field(default_factory=lambda: (Way(), Way()))


def conn_log(packets: Path, log: Path) -> None:
    """Write a log of `FIELDS`, separated by tabs."""
    connections: dict[str, Connection] = {}
    for line in packets.read_text().splitlines():
        time, stream, *ends, number, length, syn, ack = line.split("\t")
        opens = ends if (syn, ack) != ("1", "1") else [*ends[2:], *ends[:2]]
        one = connections.setdefault(stream, Connection(tuple(opens), time))  # type: ignore[arg-type]
        one.end = time
        one.ways[tuple(ends) != one.ends].saw(int(number), int(length), syn == "1")
    rows = []
    for place, one in enumerate(connections.values()):
        (sent, lost), (answered, lost_too) = (way.sizes() for way in one.ways)
        lasts = f"{float(one.end) - float(one.begin):.6f}"
        cells = (f"{float(one.begin):.6f}", f"C{place}", *one.ends, "tcp", lasts)
        rows.append((*cells, f"{sent}", f"{answered}", f"{lost + lost_too}"))
    head = ["#separator \\x09", "#set_separator\t,", "#empty_field\t(empty)", "#unset_field\t-"]
    head += [
        "#path\tconn",
        "\t".join(["#fields", *COLUMNS]),
        "\t".join(["#types", *COLUMNS.values()]),
    ]
    log.write_text("\n".join([*head, *map("\t".join, rows), "#close"]) + "\n")
