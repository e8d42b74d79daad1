"""The same flows through fctlab's packets, its fluid and ns-3, one after the other on one core.

Prints packet-hops, CPU seconds and packet-hops per CPU second, and the slowdowns that each found.
README.md says what is the same in fctlab and ns-3 and what differs. Each rate and load that is
done is a line of the file ``--out``, and is not run again. With ``--docs PAGE`` the tables of all
lines are written between the lines ``<!-- begin ns3 -->`` and ``<!-- end ns3 -->`` of a page.

    python benches/peers/ns3/compare.py --rates 10,100 --loads 0.3,0.5 --out results/ns3.jsonl
    python benches/peers/ns3/compare.py --classes 2 --loads 0.5 --flows 3000
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import tomllib

import fctlab
from fctlab import jobs
from fctlab.peers import ns3
from fctlab.results.drafts import write_whole
from fctlab.studies.framework.docs import between
from fctlab.studies.framework.report.markdown import table

HERE = Path(__file__).resolve().parent
SCENARIO = HERE / "scenario.toml"
STATISTICS = {"avg_slowdown": "mean", "p99_slowdown": "p99"}
ENGINES = {"packet": "packets", "fluid": "fluid"}
NAMES = {**ENGINES, "ns3": "ns-3"}
"""What ran the flows."""
COUNTS = ("finished", "packet_hops", "drops", "ecn_marks", "cpu_s", "packet_hops_per_cpu_s")


def install_ns3() -> None:
    """Install ns-3 and a compiler from Debian's packages."""
    command = ["apt-get", "install", "-y", "--no-install-recommends", "g++", ns3.PACKAGE]
    subprocess.run(command, check=True, stdout=sys.stderr)


def scenario_of(rate: int, load: float, classes: int) -> dict[str, Any]:
    """What all run: windows, thresholds and buffers grow with the rate of a host, in Gbps.

    Several classes have web search each and a queue each, served in their order.
    """
    scenario = tomllib.loads(SCENARIO.read_text())
    topology, scheme = scenario["topology"], scenario["scheme"]
    more = rate / float(topology["host_rate"].removesuffix("Gbps"))
    for of, key, unit in (
        (topology, "host_rate", "Gbps"),
        (topology, "fabric_rate", "Gbps"),
        (scheme["port"], "buffer", "KB"),
        (scheme["port"], "ecn_threshold", "pkt"),
        (scheme["transport"], "initial_window", "pkt"),
    ):
        of[key] = f"{round(more * float(of[key].removesuffix(unit)))}{unit}"
    scenario["traffic"]["load"] = load
    if classes > 1:
        workload = scenario["traffic"].pop("workload")
        scenario["traffic"]["classes"] = [
            {"class": f"class {number}", "workload": workload, "share": 1 / classes}
            for number in range(classes)
        ]
        scheme["port"] |= {
            "discipline": {"kind": "strict", "classes": classes},
            "ecn_scope": "queue",
        }
        scheme["nic"] = {"discipline": "fifo"}
    return scenario


def run_ns3(
    program: Path | None, scenario: dict[str, Any], classes: int, trace: Path, out: Path
) -> dict[str, Any]:
    """Replay the trace with the scenario's parameters; write one row per flow to `out`."""
    topology, scheme = scenario["topology"], scenario["scheme"]
    keys = ("leaves", "spines", "hosts_per_leaf", "host_rate", "fabric_rate", "link_delay")
    parameters = {key: topology[key] for key in keys} | {
        "buffer": scheme["port"]["buffer"],
        "mark_packets": scheme["port"]["ecn_threshold"].removesuffix("pkt"),
        "initial_window": scheme["transport"]["initial_window"].removesuffix("pkt"),
        "min_rto": scheme["transport"]["min_rto"],
        "classes": classes,
        "turns": "true",
    }
    return ns3.replay(trace, out, parameters, program).to_dict()


def counted(result: fctlab.Result) -> dict[str, Any]:
    """What fctlab counted, by the names of `ns3.Replay`; the fluid has no packets."""
    counters, cpu_s = result.counters, result.perf["cpu_s"]
    found = {"finished": counters["flows_finished"], "cpu_s": cpu_s}
    if hops := counters.get("packet_hops"):
        kept = {key: counters[key] for key in ("packet_hops", "drops", "ecn_marks")}
        found |= kept | {"packet_hops_per_cpu_s": hops / cpu_s}
    return found


def compare(
    program: Path | None, asked: dict[str, Any], before: dict[str, Any] | None
) -> dict[str, Any]:
    """Run all three; fctlab first, because its flows are the trace.

    What ns-3 found before holds where packets have the slowdowns that they had then: so the flows
    are the same.
    """
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    scenario = scenario_of(asked["rate_gbps"], asked["load"], asked["classes"])
    scenario["seed"] = asked["seed"]
    scenario["traffic"]["flows"] = asked["flows"]
    results = {"packet": fctlab.run(scenario | {"engine": "packet"})}
    refused = None
    try:
        results["fluid"] = fctlab.run(scenario | {"engine": "fluid"})
    except fctlab.SpecError as error:  # its queues hold more than a buffer
        refused = str(error)
    counts = {name: counted(results[name]) if name in results else {} for name in ENGINES}
    found = list(slowdowns(results))
    then = before["slowdowns"] if before else []
    if before and [row["packet"] for row in found] == [row["packet"] for row in then]:
        # CPU times are compared within one run.
        counts = before["counts"] | {"fluid": counts["fluid"] | {"cpu_s": None}}
        found = [row | {"ns3": old["ns3"]} for row, old in zip(found, then, strict=True)]
    else:
        counts["ns3"], results["ns3"] = with_ns3(
            program, scenario, asked["classes"], results["packet"]
        )
        found = list(slowdowns(results))
    return asked | {
        "engine": jobs.engine(),
        "refused": refused,
        "counts": {name: {key: of.get(key) for key in COUNTS} for name, of in counts.items()},
        "slowdowns": found,
    }


def with_ns3(
    program: Path | None,
    scenario: dict[str, Any],
    classes: int,
    packets: fctlab.Result,
) -> tuple[dict[str, Any], fctlab.Result]:
    """The flows of packets in ns-3: what it counted, and its result."""
    flows = packets.flows
    names = {each["class"]: n for n, each in enumerate(scenario["traffic"].get("classes", ()))}
    number = pl.col("traffic_class").replace_strict(names, default=0, return_dtype=pl.Int64)
    columns = ("start_s", "src", "dst", "size_bytes")
    with tempfile.TemporaryDirectory() as directory:
        trace, file = Path(directory, "trace.csv"), Path(directory, "ns3.csv")
        flows.select(*columns, number.alias("class")).write_csv(trace)
        counts = run_ns3(program, scenario, classes, trace, file)
        told = pl.read_csv(file).hstack(flows.select("traffic_class"))
        return counts, fctlab.Result.of_flows(packets.scenario, told, made_by="ns-3")


def slowdowns(results: dict[str, fctlab.Result]) -> Iterator[dict[str, Any]]:
    """Mean and p99 of each size class: one summary, whoever made the flows."""
    summaries = [result.summary.iter_rows(named=True) for result in results.values()]
    for rows in zip(*summaries, strict=True):
        for statistic in STATISTICS if rows[0]["flows"] else ():
            known = not any(row[f"{statistic}_lower_bound"] for row in rows)
            values = [row[statistic] if known else None for row in rows]
            of_all = rows[0]["traffic_class"] == "all"
            name = rows[0]["class"] if of_all else "{class}, {traffic_class}".format(**rows[0])
            found = {"class": name, "flows": rows[0]["flows"], "statistic": statistic}
            yield found | dict.fromkeys(NAMES) | dict(zip(results, values, strict=True))


def show(found: dict[str, Any]) -> str:
    """The tables of a load, in Markdown."""
    counts = found["counts"]
    cost = [
        (each, *("-" if (n := of[each]) is None else f"{n:,.4g}" for of in counts.values()))
        for each in COUNTS
    ]
    slower = [
        (
            row["class"],
            f"{row['flows']:,}",
            STATISTICS[row["statistic"]],
            *(f"{row[each]:.2f}" if row[each] else "not known" for each in NAMES),
            *(
                f"{row[each] / row['ns3'] - 1:+.1%}" if row[each] and row["ns3"] else "-"
                for each in ENGINES
            ),
        )
        for row in found["slowdowns"]
    ]
    ratio = counts["packet"]["packet_hops_per_cpu_s"] / counts["ns3"]["packet_hops_per_cpu_s"]
    classes = found["classes"]
    told = (
        f"{found['rate_gbps']} Gbps, load {found['load']:g}, {found['flows']:,} flows, "
        f"{f'{classes} classes in their order, ' if classes > 1 else ''}seed {found['seed']}: "
        f"per CPU second fctlab has {ratio:.0f} times as many packet-hops as ns-3."
    )
    if found.get("refused"):
        told += f" The fluid refuses it: {found['refused']}."
    ratios = (f"{name} / ns-3" for name in ENGINES.values())
    header = ("size class", "flows", "slowdown", *NAMES.values(), *ratios)
    return "\n".join([told, "", *table(header, slower), "", *table(("", *NAMES.values()), cost)])


def numbers(text: str) -> list[float]:
    """Several with commas between."""
    return [float(each) for each in text.split(",")]


def integers(text: str) -> list[int]:
    """The same of whole ones."""
    return [int(each) for each in text.split(",")]


def main() -> None:
    """Read the command line, build, run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--flows", type=int, default=500, help="how many flows (default: 500)")
    parser.add_argument(
        "--loads", type=numbers, default=[0.6], help="of the hosts' links (default: 0.6)"
    )
    parser.add_argument(
        "--rates", type=integers, default=[10], help="of hosts' links, in Gbps (default: 10)"
    )
    parser.add_argument(
        "--classes", type=int, default=1, choices=range(1, 10), help="by priority (default: 1)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the flows (default: 1)")
    parser.add_argument("--install", action="store_true", help=f"as root: install {ns3.PACKAGE}")
    parser.add_argument("--program", type=Path, help="the ns-3 program, if you built it yourself")
    parser.add_argument("--out", type=Path, help="a line for each load; those there are not run")
    parser.add_argument(
        "--renew",
        action="store_true",
        help="run fctlab again where a line is of another engine, and ns-3 where packets differ",
    )
    parser.add_argument("--docs", type=Path, help="write the tables into this page")
    args = parser.parse_args()

    if not args.program and (reason := ns3.missing()):
        if not args.install:
            hint = "; --install installs it" if os.geteuid() == 0 else ""
            print(f"skipped: {reason}{hint}")
            return
        install_ns3()
    there = args.out.read_text(encoding="utf-8") if args.out and args.out.exists() else ""
    done = [json.loads(line) for line in there.splitlines()]
    for rate, load in itertools.product(args.rates, args.loads):
        asked = {"rate_gbps": rate, "load": load, "classes": args.classes}
        asked |= {"flows": args.flows, "seed": args.seed}
        place = next((n for n, each in enumerate(done) if asked.items() <= each.items()), len(done))
        found = done[place] if place < len(done) else None
        if found is None or (args.renew and found["engine"] != jobs.engine()):
            found = compare(args.program, asked, found)
            done[place : place + 1] = [found]
            if args.out:
                lines = "".join(f"{json.dumps(each)}\n" for each in done)
                write_whole(args.out, lines)
        print(show(found), end="\n\n", flush=True)
    if args.docs:
        engines = ", ".join(sorted({each["engine"] for each in done}))
        tables = "\n\n".join([f"Engine {engines}.", *map(show, done)])
        text = args.docs.read_text(encoding="utf-8")
        args.docs.write_text(between(text, "ns3", tables + "\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
