"""Commands that write, and what may befall them: the table of `test_faults`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fctlab.fabric import asked
from fctlab.jobs import Job
from fctlab.results.points import Found, PointStore, Wanted
from fctlab.results.simulation import simulated
from tests.conftest import PROGRAM, SCENARIOS, SMALL_TOML

SPEC = (SCENARIOS / "slo-two-classes.toml").read_text()
SWEEP = """
scenario = "small.toml"
schemes = ["dctcp", "pfabric"]
loads = [0.5]
seeds = 2
"""
LOG = "start_s,src,dst,size_bytes,class\n" + "".join(
    f"{2e-5 * i + 1e-6 * (i * i % 17):.6f},{i % 3},{3 + i % 2},{1000 + 997 * (i * i % 61)},"
    f"{'ab'[i % 2]}\n"
    for i in range(400)
)
FABRIC = """
name = "two racks"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = "10Gbps"
fabric_rate = "20Gbps"
base_rtt = "20us"
[traffic]
load = 0.5
flows = 2000
[[traffic.classes]]
class = "a"
workload = { kind = "fixed", size = "20KB" }
dscp = [34]
slis = [{ name = "tail", metric = "p90" }]
slo = "tail < 6"
[[traffic.classes]]
class = "b"
workload = { kind = "fixed", size = "60KB" }
dscp = [10]
slis = [{ name = "tail", metric = "p90" }]
slo = "tail < 9"
[scheme]
preset = "dctcp-rate"
port = { discipline = { kind = "wfq", weights = [3, 1] } }
"""


@dataclass(frozen=True)
class Command:
    """A command that writes.

    Attributes:
        arguments: ``{out}`` is where it writes.
        reads: the file it reads, where that is an input of the user's.
        after: what has to be in `out` before, by the name of a command.
        damage: a file of `out` that is spoilt before; the command removes it and writes nothing.
        flows: arguments that ask for a thousand million flows.
    """

    arguments: tuple[str, ...]
    reads: str = ""
    after: str = ""
    damage: str = ""
    flows: tuple[str, ...] = ()


MANY = ("--set", "traffic.flows=1000000000")
MOST = ("--most-flows", "20000")
PACKETS = ("--windows", "1", "--flows", "50")
COMMANDS: Mapping[str, Command] = {
    "run": Command(("run", "small.toml", "--out", "{out}"), "small.toml", flows=MANY),
    "compare": Command(
        ("compare", "small.toml", "--schemes", "dctcp,pfabric", "--out", "{out}"),
        "small.toml",
        flows=MANY,
    ),
    "sweep": Command(("sweep", "sweep.toml", "--out", "{out}"), "small.toml"),
    "study": Command(("study", "bigswitch", "--only", "ascc-t1", "--out", "{out}")),
    "predict": Command(
        ("predict", "slos.toml", *MOST, "--out", "{out}"),
        "slos.toml",
    ),
    "plan": Command(("plan", "slos.toml", *MOST, "--out", "{out}"), "slos.toml"),
    "provision": Command(
        ("provision", "slos.toml", *MOST, "--precision", "10", "--out", "{out}"), "slos.toml"
    ),
    "whatif": Command(
        ("whatif", "slos.toml", *MOST, "--vary", "classes.web.weight=1,2", "--out", "{out}"),
        "slos.toml",
    ),
    "calibrate": Command(
        (
            *("calibrate", "slos.toml", "--scheme", "dctcp-rate", "--loads", "0.3"),
            *("--flows", "1000", "--out", "{out}/calibrated.toml"),
        ),
        "slos.toml",
    ),
    "fit": Command(
        ("fit", "log.csv", "--link", "40Gbps", "--rtt", "10us", "--out", "{out}"), "log.csv"
    ),
    "trace": Command(("trace", "log.csv", "--out", "{out}/flows.parquet"), "log.csv"),
    "summary": Command(
        ("summary", "small.toml", "seen/flows.parquet", "--out", "{out}"), "small.toml"
    ),
    "export": Command(
        ("export", "tc", "planned", "--site", "site.toml", "--no-predict", "--out", "{out}")
    ),
    "mapping": Command(("mapping", "seen", "--queues", "4", "--out", "{out}/mapping.json")),
    "plot": Command(("plot", "{out}"), after="compare"),
    "report": Command(("report", "{out}"), after="compare"),
    "claims": Command(("claims", "studied", "--out", "{out}/claims.html")),
    "init": Command(("init", "scenario", "{out}/mine.toml")),
    "store gc": Command(
        ("store", "gc", "{out}/store"), after="sweep", damage="store/points/00/00spoilt.json"
    ),
    "bigswitch worst-case": Command(
        ("bigswitch", "worst-case", "fifo", "--theorem", "3", "--out", "{out}/worst.json")
    ),
    "bigswitch draw": Command(("bigswitch", "draw", "figure-3", "--out", "{out}/figure.png")),
    "fabric predict": Command(
        ("fabric", "predict", "fabric.toml", "--most-windows", "1", "--out", "{out}"), "fabric.toml"
    ),
    "fabric verify": Command(
        ("fabric", "verify", "fabric.toml", *PACKETS, "--out", "{out}"), "fabric.toml"
    ),
    "fabric plan": Command(
        ("fabric", "plan", "fabric.toml", "--budget", "2", *PACKETS, "--out", "{out}"),
        "fabric.toml",
    ),
    "fabric whatif": Command(("fabric", "whatif", "fabric.toml", "--out", "{out}"), "fabric.toml"),
    "fabric import": Command(
        ("fabric", "import", "log.csv", "--topology", "fabric.toml", "--out", "{out}"), "log.csv"
    ),
    "fabric watch": Command(
        ("fabric", "watch", "logs", "--once", "--topology", "fabric.toml", "--out", "{out}"),
        "logs/log.csv",
    ),
    "fabric accuracy": Command(("fabric", "accuracy", "measured", "--out", "{out}/errors.json")),
}


OF_COMMANDS = {"studied": "study", "planned": "plan"}
"""Results that some read, and of which command they are."""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    said: str
    took_s: float

    @property
    def is_one_error(self) -> bool:
        """Exit code 2 and one line."""
        return self.code == 2 and self.said.count("\n") == 1 and self.said.startswith("error: ")


@dataclass
class Bench:
    """A directory of inputs, and results of commands that nothing befell."""

    place: Path
    whole: dict[str, tuple[dict[str, Any], float]] = field(default_factory=dict)

    @staticmethod
    def made(place: Path) -> Bench:
        """With inputs, and with what some commands need of others."""
        texts = {"small.toml": SMALL_TOML, "slos.toml": SPEC, "sweep.toml": SWEEP, "log.csv": LOG}
        (place / "logs").mkdir()
        for name, text in (texts | {"fabric.toml": FABRIC, "logs/log.csv": LOG}).items():
            (place / name).write_text(text)
        return Bench(place)

    def before(self, name: str, out: Path) -> None:
        """Puts into `out` what the command needs to find there."""
        out.mkdir(parents=True, exist_ok=True)
        if needed := COMMANDS[name].after:
            shutil.copytree(self.result_of(needed), out, dirs_exist_ok=True)
        if spoilt := COMMANDS[name].damage:
            (out / spoilt).parent.mkdir(parents=True, exist_ok=True)
            (out / spoilt).write_text("{}")

    def result_of(self, name: str) -> Path:
        """Where a command has written that nothing befell."""
        out = self.place / f"whole-{name}"
        if name not in self.whole:
            self.before(name, out)
            done = self.run(name, out)
            assert done.code == 0, (name, done)
            self.whole[name] = content(out), done.took_s
        return out

    def started(self, name: str, out: Path, *more: str, **environment: str) -> Started:
        """The command at work."""
        for needed in ("seen", "measured", *OF_COMMANDS):
            if any(each.split("/")[0] == needed for each in COMMANDS[name].arguments):
                self._needed(needed)
        arguments = [each.replace("{out}", str(out)) for each in COMMANDS[name].arguments]
        return Started(self.place, [*arguments, *more], environment)

    def run(self, name: str, out: Path, *more: str, **environment: str) -> Done:
        """The command from begin to end."""
        return self.started(name, out, *more, **environment).ended()

    def _needed(self, name: str) -> None:
        if (self.place / name).exists():
            return
        if name in OF_COMMANDS:
            shutil.copytree(self.result_of(OF_COMMANDS[name]), self.place / name)
            if name == "planned":
                site = [PROGRAM, "export", "tc", "--init", name]
                with (self.place / "site.toml").open("w") as file:
                    subprocess.run(site, cwd=self.place, stdout=file, check=True)
            return
        if name == "measured":
            return measured(self.place / name, self.place / "fabric.toml")
        values = ("--set", "scheme=pfabric", "--set", "record.values={}", "--out", name)
        assert Started(self.place, ["run", "small.toml", *values], {}).ended().code == 0


def measured(place: Path, spec: Path) -> None:
    """A store with one case of ``fctlab study fabric``, which itself takes minutes."""
    store = PointStore(place / "store", create=True)
    given = {"scenario": asked.load(spec, engine="packet").tables, "keep": "summary"}
    kept = {"fluid": {"mean all": 0.99, "tail all": 1.02}}
    store.keep(Wanted.of(Job("a case", simulated, given)), Found({"kept": kept}, {"engine": "e"}))


class Started:
    """A process of the program."""

    def __init__(self, place: Path, arguments: list[str], environment: Mapping[str, str]) -> None:
        self.begin = time.monotonic()
        self.was_caught = False
        self.process = subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    def is_loaded(self) -> bool:
        """Once its own code runs: Python catches Ctrl-C when it starts, and that no longer does."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        mask = int(status.partition("SigCgt:")[2].split()[0], 16)
        caught = bool(mask >> (signal.SIGINT - 1) & 1)
        self.was_caught |= caught
        return self.was_caught and not caught

    def loaded(self) -> Started:
        """Once it is."""
        while self.process.poll() is None and not self.is_loaded():
            pass
        return self

    def signalled(self, number: signal.Signals, after_s: float) -> Done:
        """A signal so long after the begin, or now, and how it ends."""
        time.sleep(max(0.0, self.begin + after_s - time.monotonic()))
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> Done:
        """The end."""
        _, said = self.process.communicate(timeout=300)
        return Done(self.process.returncode, said, time.monotonic() - self.begin)


def content(out: Path) -> dict[str, Any]:
    """Whatever a command wrote that says the same each time, by name."""
    found: dict[str, Any] = {}
    for file in sorted(out.rglob("*")):
        name = str(file.relative_to(out))
        timed = any(part in ("times", "listed") for part in file.relative_to(out).parts)
        if file.is_dir() or timed or file.suffix in (".html", ".md", ".pdf", ".svg"):
            continue
        if file.suffix == ".json":
            found[name] = _lasting(json.loads(file.read_text()))
        else:
            found[name] = file.read_bytes().replace(str(out).encode(), b"OUT")
    return found


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in COSTS}
        return {k: _lasting(v) for k, v in kept.items()}
    return [_lasting(each) for each in value] if isinstance(value, list) else value


COSTS = ("computed", "wall_s", "cpu_s", "packet_hops_per_s", "events_per_s", "peak_rss_bytes")


@contextmanager
def disk(place: Path, size: str) -> Iterator[Path]:
    """A small disk of its own at `place`; skips where none can be mounted."""
    place.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill(place: Path) -> None:
    """Until a disk has no byte left."""
    with suppress(OSError), (place / "full").open("wb", buffering=0) as file:
        while True:
            file.write(b"0" * 4096)
