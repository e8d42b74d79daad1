"""Batch files for Linux hosts, read back by the kernel in a network namespace of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fctlab.errors import SpecError
from fctlab.export.targets import TARGETS
from fctlab.export.targets.qdiscs import TINY
from fctlab.export.types import MTU_BYTES, Form
from fctlab.testbed import uml
from fctlab.testbed.inside import POWER_OFF
from tests import exports

TC = TARGETS["tc"]
LINK = "ip link add eth0 type veth peer name eth9"
"""Down: nothing is sent, and the kernel need not wait for who might."""


def namespace(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a script does in this kernel where there are no devices but one."""
    file = folder / "script.sh"
    file.write_text(f"set -e\ncd {folder}\n{LINK}\n{script}")
    command = ["unshare", "--user", "--map-root-user", "--net", "sh", str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def virtual(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The same in User Mode Linux (``fctlab testbed build``), which has more disciplines."""
    (folder / "script.sh").write_text(f"set -e\ncd {folder}\n{LINK}\n{script}")
    init, said, code = (folder / name for name in ("init", "stderr", "code"))
    code.unlink(missing_ok=True)
    init.write_text(
        "#!/bin/sh\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin\nmount -t proc none /proc\n"
        f"mount -t hostfs none {folder} -o {folder}\n"
        f"sh {folder}/script.sh 2> {said}\necho $? > {code}.new; mv {code}.new {code}\n"
        f"exec {sys.executable} -I -S -c 'import ctypes; ctypes.CDLL(None).reboot({POWER_OFF})'\n"
    )
    init.chmod(0o755)
    ran = uml.start_with(init, 1)
    ended = int(code.read_text()) if code.exists() else 1
    stderr = said.read_text() if code.exists() else f"{ran.stdout} {ran.stderr}"
    return subprocess.CompletedProcess([], ended, ran.stdout, stderr)


Kernel = Callable[[str, Path], subprocess.CompletedProcess[str]]
PROBES = {
    "namespace": "true",
    "htb": "tc qdisc add dev eth0 root handle 1: htb default 1",
    "ets": "tc qdisc add dev eth0 root handle 1: ets bands 2",
    "prio": "tc qdisc add dev eth0 root handle 1: prio bands 3",
    "red": "tc qdisc add dev eth0 root handle 1: red limit 400000 min 30000 max 30001 "
    "avpkt 1000 burst 31 probability 1 bandwidth 1gbit ecn",
    "basic": "tc qdisc add dev eth0 root handle 1: htb default 1; tc filter add dev eth0 "
    "parent 1: protocol all prio 12 basic match 'meta(priority eq 3)' flowid 1:1",
}


@dataclass
class Kernels:
    """Kernels that can be asked, by feature; and why none can."""

    asked: dict[str, Kernel]
    lacks: dict[str, str]

    def having(self, *features: str) -> Kernel:
        """One that has all of them; else the test is skipped, with the reason."""
        for each in features:
            if self.lacks.get(each):
                pytest.skip(self.lacks[each])
        return next((virtual for each in features if self.asked[each] is virtual), namespace)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    """This kernel, or User Mode Linux where it has what this one lacks."""
    folder = tmp_path_factory.mktemp("probe")
    if not all(map(shutil.which, ("unshare", "ip", "tc"))):
        return Kernels({}, dict.fromkeys(PROBES, "unshare, ip and tc are not all here"))
    asked: dict[str, Kernel] = {}
    lacks: dict[str, str] = {}
    for name, probe in PROBES.items():
        ran = namespace(probe, folder)
        if ran.returncode == 0:
            asked[name] = namespace
            continue
        lacks[name] = f"this kernel: {ran.stderr.strip()[:200]}; {uml.lacks()}"
        if uml.lacks() is None:
            ran = virtual(probe, folder)
            lacks[name] = f"neither kernel: {ran.stderr.strip()[:200]}"
            if ran.returncode == 0:
                asked[name] = virtual
                del lacks[name]
    return Kernels(asked, lacks)


def host(scheduler: str, ports: tuple[str, ...] = ("eth0",)) -> dict[str, Any]:
    return {"ports": list(ports), "rate": "25Gbps", "scheduler": scheduler, "nodrop": True}


def fresh(form: Form) -> str:
    return TC.fresh(form, TC.wanted(form, None, False))


def shown(
    kernel: Kernel, forms: list[Form], folder: Path, *, drop: str = ""
) -> list[dict[str, Any]]:
    """What the kernel says of each form: its disciplines, classes and filters."""
    return after_batches(kernel, [[fresh(form)] for form in forms], folder, drop=drop)


def after_batches(
    kernel: Kernel, runs: list[list[str]], folder: Path, *, drop: str = ""
) -> list[dict[str, Any]]:
    """What the kernel says after batch files, run by run from nothing on.

    Args:
        kernel: which.
        runs: of each, the files one after the other.
        folder: where they are written.
        drop: a word; lines with it are left out.
    """
    script = []
    for number, batches in enumerate(runs):
        for step, text in enumerate(batches):
            kept = [line for line in text.splitlines() if not drop or f" {drop} " not in line]
            (folder / f"{number}-{step}.tc").write_text("\n".join(kept) + "\n")
            script.append(f"tc -batch {number}-{step}.tc")
        script += [
            f"tc -j qdisc show dev eth0 > {number}.qdisc",
            f"tc -d class show dev eth0 > {number}.class",  # of htb, tc has no JSON
            f"tc -j filter show dev eth0 > {number}.filter",
            "tc qdisc del dev eth0 root",
        ]
    ran = kernel("\n".join(script), folder)
    assert ran.returncode == 0, ran.stderr
    found: list[dict[str, Any]] = []
    for number in range(len(runs)):
        qdiscs, filters = (
            json.loads((folder / f"{number}.{what}").read_text() or "[]")
            for what in ("qdisc", "filter")
        )
        lines = (folder / f"{number}.class").read_text().splitlines()
        classes = {line.split()[2]: line.split()[3:] for line in lines}
        found.append({"qdisc": qdiscs, "filter": filters, "class": classes})
    return found


def after(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def codes(found: dict[str, Any]) -> dict[str, set[int]]:
    """By class, the code points that filters lead to it; those of IPv4 and IPv6 are the same."""
    seen: dict[str, dict[str, set[int]]] = {"ip": {}, "ipv6": {}}
    for each in found["filter"]:
        options = each.get("options", {})
        if each["kind"] == "u32" and "flowid" in options:
            value, mask = (int(options["match"][key], 16) for key in ("value", "mask"))
            shift = (mask & -mask).bit_length() - 1
            assert mask >> shift == 0x3F
            seen[each["protocol"]].setdefault(options["flowid"], set()).add(value >> shift)
    assert seen["ip"] == seen["ipv6"]
    return seen["ip"]


def expected_codes(form: Form) -> dict[str, set[int]]:
    return {f"1:{band + 1:x}": set(each.dscps) for band, each in enumerate(form.queues)}


def test_htb_is_what_the_kernel_has(kernels: Kernels, tmp_path: Path) -> None:
    kernel = kernels.having("htb")
    forms = [exports.forms(TC, seed, host=host("htb"), most=8)[1] for seed in range(exports.PLANS)]
    forms = [_unmarked(form) for form in forms]
    for form, found in zip(forms, shown(kernel, forms, tmp_path, drop="basic"), strict=True):
        for band, each in enumerate(form.queues):
            leaf = found["class"][f"1:{band + 1:x}"]
            level = band if each.weight is None else len(form.strict)
            assert after(leaf, "prio") == str(level)
            assert after(leaf, "rate") == "8Kbit", TINY
            assert after(leaf, "ceil") == "25Gbit"
            assert after(leaf, "quantum") == str((each.weight or 1) * MTU_BYTES)
        assert len(found["class"]) == len(form.queues) + 1
        assert codes(found) == expected_codes(form)


def test_the_kernel_goes_along_with_changes_and_back(kernels: Kernels, tmp_path: Path) -> None:
    kernel = kernels.having("htb")
    runs = []
    for seed in range(exports.PLANS // 10):
        first, other = (
            _unmarked(exports.forms(TC, seed + shift, host=host("htb"), most=8)[1])
            for shift in (0, 10_000)
        )
        if seed % 2:  # other weights alone
            new = [q.weight and q.weight + 1 for q in first.queues]
            queues = (replace(q, weight=w) for q, w in zip(first.queues, new, strict=True))
            other = replace(first, queues=tuple(queues))
        one, two = (TC.wanted(form, None, False) for form in (first, other))
        there, back = TC.change(one, two), TC.change(two, one)
        runs += [[fresh(first)], [fresh(first), there, back], [fresh(other)], [fresh(first), there]]
    found = after_batches(kernel, runs, tmp_path, drop="basic")
    for direct, changed in zip(found[::2], found[1::2], strict=True):
        assert direct["class"] == changed["class"]
        assert codes(direct) == codes(changed)


@pytest.mark.parametrize("scheduler", ["ets", "prio"])
def test_bands_are_what_the_kernel_has(kernels: Kernels, tmp_path: Path, scheduler: str) -> None:
    kernel = kernels.having(scheduler)
    strict = True if scheduler == "prio" else None
    drawn = [
        exports.forms(TC, seed, host=host(scheduler), strict=strict)
        for seed in range(_plans(kernel))
    ]
    forms = [_unmarked(form) for _, form in drawn if len(form.queues) > 1]
    for form, found in zip(forms, shown(kernel, forms, tmp_path, drop="basic"), strict=True):
        root = next(each for each in found["qdisc"] if each.get("root"))
        options = root["options"]
        assert (root["kind"], options["bands"]) == (scheduler, len(form.queues))
        if scheduler == "ets":
            assert options.get("strict", 0) == len(form.strict)
            quanta = [weight * MTU_BYTES for _, weight in form.weighted]
            assert options.get("quanta", []) == quanta
        for band, each in enumerate(form.queues):
            assert options["priomap"][each.priority] == band
        assert codes(found) == expected_codes(form)


def test_red_is_what_the_kernel_has(kernels: Kernels, tmp_path: Path) -> None:
    kernel = kernels.having("red", "htb")
    forms = [exports.forms(TC, seed, host=host("htb"), most=8)[1] for seed in range(_plans(kernel))]
    for form, found in zip(forms, shown(kernel, forms, tmp_path, drop="basic"), strict=True):
        reds = {each["parent"]: each for each in found["qdisc"] if each["kind"] == "red"}
        for band, each in enumerate(form.queues):
            red = reds.get(f"1:{band + 1:x}")
            assert (red is not None) == (each.mark_bytes is not None)
            if red is not None:
                assert red["options"]["min"] == each.mark_bytes
                assert red["options"]["ecn"] and red["options"]["nodrop"]


def test_tc_understands_what_this_kernel_may_lack(kernels: Kernels, tmp_path: Path) -> None:
    """Each kind of line, at the fastest links: what is wrong is not the line."""
    kernels.having("namespace")
    lines = set()
    for scheduler in ("ets", "prio", "htb"):
        table = host(scheduler) | {"rate": "800Gbps"}
        for seed in range(10):
            strict = True if scheduler == "prio" else None
            form = exports.forms(TC, seed, host=table, most=8, strict=strict)[1]
            if len(form.queues) > 1:
                lines |= set(fresh(form).splitlines())
    said = set()
    script = "tc qdisc add dev eth0 root handle 1: htb default 1\n"
    for number, line in enumerate(sorted(lines)):
        (tmp_path / f"{number}.tc").write_text(line + "\n")
        script += f"tc -batch {number}.tc || true\n"
    for line in namespace(script, tmp_path).stderr.splitlines():
        said.add(re.sub(r"\d+", "N", line))
    kernel = r"Error: .*|RTNETLINK answers: .*|We have an error talking to the kernel|"
    kernel += r"Command failed N\.tc:N"
    assert [line for line in said if not re.fullmatch(kernel, line)] == []


def test_filters_by_sk_priority(kernels: Kernels, tmp_path: Path) -> None:
    kernel = kernels.having("basic", "htb")
    form = _unmarked(exports.forms(TC, 1, host=host("htb"), most=8)[1])
    (tmp_path / "all.tc").write_text(fresh(form))
    # Of ematches tc writes no JSON that is any.
    ran = kernel("tc -batch all.tc\ntc filter show dev eth0 > filters", tmp_path)
    assert ran.returncode == 0, ran.stderr
    text = (tmp_path / "filters").read_text()
    found = re.findall(r"basic .*flowid 1:(\w+)[^\n]*\n\s*meta\(priority eq (\d+)\)", text)
    assert dict(found) == {
        f"{band + 1:x}": str(each.priority) for band, each in enumerate(form.queues)
    }


def _plans(kernel: Kernel) -> int:
    """How many; in User Mode Linux each takes a fifth of a second."""
    return exports.PLANS if kernel is namespace else exports.PLANS // 5


def _unmarked(form: Form) -> Form:
    return replace(form, queues=tuple(replace(each, mark_bytes=None) for each in form.queues))


@pytest.mark.parametrize("scheduler", ["ets", "prio", "htb"])
def test_changes_lead_there_and_back(scheduler: str) -> None:
    for seed in range(exports.PLANS):
        strict = True if scheduler == "prio" else None
        most = 8 if scheduler == "htb" else 15
        one, other = (
            exports.forms(TC, seed + shift, host=host(scheduler, ports), strict=strict, most=most)[
                1
            ]
            for shift, ports in ((0, ("eth0", "eth1")), (10_000, ("eth1", "eth2")))
        )
        if scheduler == "prio" and min(len(one.queues), len(other.queues)) < 2:
            continue
        before = TC.wanted(one, None, False)
        assert TC.parse(TC.render(before)) == before
        after = TC.wanted(other, before, False)
        assert TC.apply(before, TC.change(before, after)) == after
        assert TC.apply(after, TC.change(after, before)) == before
        assert TC.change(after, after) == ""


def test_new_weights_change_and_do_not_replace() -> None:
    form = _unmarked(exports.forms(TC, 7, host=host("ets"), strict=False)[1])
    other = replace(form, queues=tuple(replace(each, weight=100) for each in form.queues))
    change = TC.change(TC.wanted(form, None, False), TC.wanted(other, None, False))
    assert (
        change.startswith("qdisc change dev eth0 root handle 1: ets ") and change.count("\n") == 1
    )


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("link set eth0 down", "line 1: .* is no line such as"),
        (
            "qdisc add dev eth0 root handle 1: prio\nqdisc add dev eth0 root handle 1: prio",
            "line 2: .* already",
        ),
        ("qdisc del dev eth0 root", "no root that could be deleted"),
        ("qdisc add dev 'eth0", "line 1"),
        ("class add dev eth0 parent 1: classid 1:1 htb rate 1mbit", "no root yet"),
    ],
)
def test_a_batch_file_that_is_none_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(SpecError, match=wrong):
        TC.parse(text)
