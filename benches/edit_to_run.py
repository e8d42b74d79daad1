"""CPU seconds from an edit of a transport to a run of it: `make dev`, `fctlab run`.

    python3 benches/edit_to_run.py

It changes one transport of this clone and takes the change back. What is built stays: a
development build. Ends with 1 above the limit. `--release` measures `make build` in the same way,
without a limit.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRANSPORT = ROOT / "crates/fabric/src/transports/tcp.rs"
BEFORE, AFTER = "(self.window * factor).max(2.0)", "(factor * self.window).max(1.0 + 1.0)"
SCENARIO, FEW = "scenarios/websearch-leafspine.toml", "traffic.flows=4000"
RUN = [
    ".venv/bin/fctlab",
    "run",
    SCENARIO,
    "--set",
    FEW,
    "--set",
    "measure.warmup=2ms",
    "--no-progress",
]
LIMIT_CPU_S = 20


def cpu_s(command: list[str]) -> float:
    """User and system time of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--release", action="store_true", help="measure make build instead")
    build = ["make", "build" if parser.parse_args().release else "dev"]
    text = TRANSPORT.read_text()
    if text.count(BEFORE) != 1:
        sys.exit(f"error: {BEFORE} is not once in {TRANSPORT}")
    cpu_s(build)  # the first one compiles everything
    try:
        TRANSPORT.write_text(text.replace(BEFORE, AFTER))
        built, run = cpu_s(build), cpu_s(RUN)
    finally:
        TRANSPORT.write_text(text)
    cpu_s(build)
    print(f"{' '.join(build)} {built:.1f} CPU s, fctlab run {run:.1f}: {built + run:.1f} in all")
    return int(build[1] == "dev" and built + run > LIMIT_CPU_S)


if __name__ == "__main__":
    sys.exit(main())
