"""Files of strangers that Python reads: flow logs, and configurations of devices.

    python fuzz/readers.py logs [DIRECTORY ...] [-max_total_time=120]

Atheris, whose options are libFuzzer's, guides by coverage what is tried. Each input is read, or one
error says why not; a configuration that is read and written is the same.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

try:
    import atheris
except ImportError:  # What it has kept can be tried again without it.
    atheris = None

with atheris.instrument_imports(include=["fctlab"]) if atheris else nullcontext():
    from fctlab.errors import SpecError
    from fctlab.export.targets import TARGETS
    from fctlab.slo import flowlog, joined, logfile, refused, tshark, ways  # noqa: F401

LOGS = (".csv", ".tsv", ".log", ".jsonl", ".txt", ".parquet", ".csv.gz")


def logs(data: bytes) -> None:
    """The first byte chooses the kind of file, the others are in it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"log{LOGS[data[0] % len(LOGS)]}")
        file.write_bytes(data[1:])
        log = flowlog.read(file)
    assert log.flows["bytes"].min() >= 0 and log.flows["start_s"].min() == 0


def configurations(data: bytes) -> None:
    """The first byte chooses the kind of device."""
    name = sorted(TARGETS)[data[0] % len(TARGETS)]
    target = TARGETS[name]
    state = target.parse(data[1:].decode("utf-8", errors="replace"))
    assert target.parse(target.render(state)) == state, name


READERS = {"logs": logs, "configurations": configurations}


def one_error(read: Callable[[bytes], None], data: bytes) -> None:
    """Reads, where there is anything; what else than an error of ours comes out is found."""
    with suppress(SpecError):
        if data:
            read(data)


def main() -> None:
    """Fuzz a reader, by its name."""
    name, *options = sys.argv[1:] or ["?"]
    if name not in READERS:
        sys.exit(f"error: there is no reader {name}; there are {', '.join(READERS)}")
    if not atheris:
        sys.exit("error: Atheris is not installed (pip install atheris)")
    atheris.Setup([sys.argv[0], *options], lambda data: one_error(READERS[name], data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
