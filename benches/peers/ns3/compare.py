"""The same flows through fctlab and ns-3, one after the other on one core.

Prints packet-hops, CPU seconds and packet-hops per CPU second of each, and the completion times
that each found. README.md says what is the same in the two and what differs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tomllib

import fctlab
from fctlab.peers import ns3

HERE = Path(__file__).resolve().parent
SCENARIO = HERE / "scenario.toml"


def install_ns3() -> None:
    """Install ns-3 and a compiler from Debian's packages."""
    command = ["apt-get", "install", "-y", "--no-install-recommends", "g++", ns3.PACKAGE]
    subprocess.run(command, check=True, stdout=sys.stderr)


def run_json(command: list[str | Path]) -> dict[str, Any]:
    """Run a program that prints one JSON object."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def run_fctlab(flows: int, seed: int, out: Path) -> dict[str, Any]:
    """Run the scenario; leave `flows.parquet` in `out`."""
    changes = ["--set", f"traffic.flows={flows}", "--seed", str(seed)]
    result = run_json(
        [sys.executable, "-m", "fctlab", "run", SCENARIO, "--out", out, "--json", *changes]
    )
    counters, perf = result["counters"], result["perf"]
    return {
        "flows": counters["flows_started"],
        "finished": counters["flows_finished"],
        "packet_hops": counters["packet_hops"],
        "drops": counters["drops"],
        "ecn_marks": counters["ecn_marks"],
        "cpu_s": perf["cpu_s"],
        "wall_s": perf["wall_s"],
        "packet_hops_per_cpu_s": counters["packet_hops"] / perf["cpu_s"],
    }


def run_ns3(program: Path | None, trace: Path, out: Path) -> ns3.Replay:
    """Replay the trace with the scenario's parameters; write one row per flow to `out`."""
    scenario = tomllib.loads(SCENARIO.read_text())
    topology, scheme = scenario["topology"], scenario["scheme"]
    keys = ("leaves", "spines", "hosts_per_leaf", "host_rate", "fabric_rate", "link_delay")
    parameters = {key: topology[key] for key in keys} | {
        "buffer": scheme["port"]["buffer"],
        "mark_packets": scheme["port"]["ecn_threshold"].removesuffix("pkt"),
        "initial_window": scheme["transport"]["initial_window"].removesuffix("pkt"),
        "min_rto": scheme["transport"]["min_rto"],
    }
    return ns3.replay(trace, out, parameters, program)


def compare_fct(ours: fctlab.Result, theirs: fctlab.Result) -> list[dict[str, Any]]:
    """Mean and 99th percentile of each size class: one summary, whoever made the flows."""
    rows = []
    pairs = zip(
        ours.summary.iter_rows(named=True), theirs.summary.iter_rows(named=True), strict=True
    )
    for mine, other in pairs:
        if mine["class"] == "all" or not mine["flows"]:
            continue
        for statistic in ("avg", "p99"):
            name = f"{statistic}_fct_s"
            known = not (mine[f"{name}_lower_bound"] or other[f"{name}_lower_bound"])
            rows.append(
                {
                    "class": mine["class"],
                    "flows": mine["flows"],
                    "statistic": statistic,
                    "fctlab_s": mine[name],
                    "ns3_s": other[name],
                    "difference": mine[name] / other[name] - 1 if known else None,
                }
            )
    return rows


def compare(program: Path | None, flows: int, seed: int) -> dict[str, Any]:
    """Run both; fctlab first, because its flows are the trace."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory)
        trace, ns3_file = out / "trace.csv", out / "ns3.csv"
        ours = run_fctlab(flows, seed, out)
        result = fctlab.Result.load(out)
        result.flows.select("start_s", "src", "dst", "size_bytes").write_csv(trace)
        theirs = run_ns3(program, trace, ns3_file).to_dict()
        told = fctlab.Result.of_flows(result.scenario, ns3_file, made_by="ns-3")
        fct = compare_fct(result, told)
    ratio = ours["packet_hops_per_cpu_s"] / theirs["packet_hops_per_cpu_s"]
    counts = {"fctlab": ours, "ns3": theirs}
    return {"flows": flows, "seed": seed, **counts, "ratio": ratio, "fct": fct}


def show(result: dict[str, Any]) -> None:
    """Print the tables for people."""
    ours, theirs = result["fctlab"], result["ns3"]
    print(f"{'':24}{'fctlab':>14}{'ns-3':>14}{'fctlab / ns-3':>16}")
    for key, form in (
        ("finished", ",.0f"),
        ("packet_hops", ",.0f"),
        ("drops", ",.0f"),
        ("ecn_marks", ",.0f"),
        ("cpu_s", ",.2f"),
        ("packet_hops_per_cpu_s", ",.0f"),
    ):
        ratio = f"{ours[key] / theirs[key]:.3g}" if theirs[key] else ""
        print(f"{key:24}{ours[key]:>14{form}}{theirs[key]:>14{form}}{ratio:>16}")
    print(f"\n{'FCT, us':16}{'flows':>8}{'fctlab':>14}{'ns-3':>14}{'difference':>16}")
    for row in result["fct"]:
        name = f"{row['class']} {row['statistic']}"
        times = f"{row['fctlab_s'] * 1e6:>14,.1f}{row['ns3_s'] * 1e6:>14,.1f}"
        difference = "not known" if row["difference"] is None else f"{row['difference']:+.1%}"
        print(f"{name:16}{row['flows']:>8}{times}{difference:>16}")


def main() -> None:
    """Read the command line, build, run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flows", type=int, default=500, help="how many flows (default: 500)")
    parser.add_argument("--seed", type=int, default=1, help="of the flows (default: 1)")
    parser.add_argument("--install", action="store_true", help=f"as root: install {ns3.PACKAGE}")
    parser.add_argument("--program", type=Path, help="the ns-3 program, if you built it yourself")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()

    if not arguments.program and (reason := ns3.missing()):
        if arguments.install:
            install_ns3()
        else:
            hint = "; --install installs it" if os.geteuid() == 0 else ""
            reason += hint
            print(json.dumps({"skipped": reason}) if arguments.json else f"skipped: {reason}")
            return
    result = compare(arguments.program, arguments.flows, arguments.seed)
    print(json.dumps(result)) if arguments.json else show(result)


if __name__ == "__main__":
    main()
