"""Errors of testbeds, each provoked once, on any machine: no kernel is asked for anything."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fctlab import testbed
from fctlab.testbed import bpf, congestion, host, namespaces, plan, port, queues, tagger, uml
from tests.refusing import refuses
from tests.test_export import MAPPING
from tests.test_testbed import ADS, STAR

PIAS = STAR.set("scheme.preset", "pias")
NODES = ["switch", *(f"host {i}" for i in range(9))]
EACH = {"kind": "static", "thresholds": {key: [2, 100, *[1399] * 5] for key in NODES}}

STARS: list[tuple[Any, str]] = [
    (STAR.set("scheme.preset", "fq"), "'fq' is not what a testbed has: fifo, priority, mapped"),
    (
        STAR.set("topology.senders", 250),
        "topology.senders: 250 are too many; a testbed has fewer than 250",
    ),
    (
        STAR.set("topology.host_rate", "10Gbps"),
        "topology.host_rate: is beyond 2.5 Gbps, the clock's grain; --rate 1Gbps",
    ),
]


@pytest.mark.parametrize(("scenario", "says"), STARS, ids=[says for _, says in STARS])
def test_what_no_testbed_has(scenario: Any, says: str) -> None:
    refuses(says, testbed.run, scenario, "uml")


def test_thresholds_are_of_all_ports() -> None:
    each = ADS.set("scheme.port.discipline.mapping", EACH)
    says = "has a table for each switch; a testbed's ports have thresholds in common"
    refuses(says, testbed.run, each, "uml")


def test_a_kernel_that_lacks_what_is_needed(tmp_path: Path, monkeypatch: Any) -> None:
    wanted = plan.of(STAR.resolve())
    for module, key, missing in (
        (congestion, "scheme.transport.kind", "dctcp"),
        (queues, "scheme.port", "red"),
    ):
        monkeypatch.setattr(module, "lacks", lambda: "clang cannot be found")
        says = f"{key}: this kernel has no {missing}, and clang cannot be found; --set "
        lacking = port.Kernel(frozenset({missing}))
        refuses(f"{says}scheme.preset=tcp runs, or --on uml", namespaces.check, wanted, lacking)
    no_answer = tmp_path / "answer.json"
    monkeypatch.setattr("fctlab.testbed.contained.command", lambda *_: ["sh", "-c", "echo no >&2"])
    says = "--on namespaces: ended without an answer: no"
    refuses(says, namespaces.run, tmp_path / "job.json", no_answer)
    done = subprocess.CompletedProcess([], 1, stdout="panic\n", stderr="")
    monkeypatch.setattr(uml, "start_with", lambda *_: done)
    refuses(": ended without an answer: panic", uml.boot, tmp_path / "job.json", no_answer, 1)


def test_a_tagger_that_does_not_compile(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(bpf, "lacks", lambda: None)
    monkeypatch.setattr(bpf, "CLANG", "false")
    says = f"does not compile ({bpf.PACKAGES} are needed): "
    refuses(says, tagger.build, plan.of(PIAS.resolve()), tmp_path / "tagger.o")


def test_a_host_without_its_tagger(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(host.VARIABLE, raising=False)
    says = f"cannot be found; make host builds it, {host.VARIABLE} says where it is"
    refuses(f"{host.NAME}: {says}", host.program)
    mapping = tmp_path / "mapping.json"
    found = json.loads(MAPPING.read_text()) | {"scope": "global", "thresholds": [3, 9]}
    mapping.write_text(json.dumps(found))
    says = "mapping.json: holds no thresholds of bytes sent: fctlab thresholds --json"
    refuses(says, host.bands, mapping, "eth0")


def test_a_kernel_that_cannot_be_built(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv(uml.CACHE, str(tmp_path))
    monkeypatch.setattr(uml, "SOURCES", tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    refuses("cannot be found; sudo apt-get install -y", uml.build, print)
    file = tmp_path / ".config"
    file.write_text("CONFIG_A=y\n")
    says = f"{file}: is not the kernel's file that was expected; Linux 6.1 is"
    refuses(says, uml._patch, file, "CONFIG_B", "")
    says = f"{file}: the kernel refused CONFIG_B"
    refuses(says, uml._check, file, "CONFIG_A=y\nCONFIG_B=y\n")
    tree = tmp_path / "linux-source-6.1"
    tree.mkdir()
    (tree / "fctlab.patched").touch()
    monkeypatch.setattr(uml, "_archive", lambda _: tmp_path / "linux-source-6.1.tar.xz")
    monkeypatch.setattr("subprocess.run", lambda *_, **__: SimpleNamespace(returncode=2))
    says = "build.log: make ARCH=um defconfig failed; the last lines say why"
    refuses(says, uml.build, lambda _: None)
