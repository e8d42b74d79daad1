"""From a flow log to weights, in three commands and without an editor."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from msgspec import structs
from typer.testing import CliRunner

from fctlab.cli import progress
from fctlab.cli.app import app
from fctlab.errors import SpecError
from fctlab.slo import advice, measured, planning, words
from tests.conftest import Program

SPAN_S = 0.6
CLASSES = {"web": (0, 4_200, 300_000), "rpc": (10, 1_740, 20_000), "backup": (8, 60, 10_500_000)}
"""DSCP, flows, mean bytes."""


def three_classes(file: Path) -> None:
    """A log of IPFIX's, in milliseconds: 1% of its flows are a third of its bytes."""
    rng = np.random.default_rng(1)
    parts = []
    for code, flows, mean in CLASSES.values():
        start = 1.7e12 + np.sort(rng.random(flows)) * SPAN_S * 1e3
        sizes = np.maximum(rng.exponential(mean, flows) if mean < 1e6 else [mean] * flows, 100)
        columns = {
            "flowStartMilliseconds": start,
            "flowEndMilliseconds": start + 0.01 + sizes * 8e-8 * rng.uniform(1, 3, flows),
            "octetDeltaCount": sizes.astype(np.int64),
            "ipClassOfService": [code << 2] * flows,
        }
        parts.append(pl.DataFrame(columns))
    pl.concat(parts).sort("flowStartMilliseconds").write_csv(file)


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout) if "--json" in arguments else done.stdout


@pytest.fixture
def fitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    three_classes(tmp_path / "flows.csv")
    return tmp_path


FIT = (
    *("fit", "flows.csv", "--link", "100Gbps", "--rtt", "10us"),
    *("--slo", "p99 < 5", "--slo", "web=p99 < 6", "--names", "0=web,10=rpc,8=backup"),
)


def test_three_commands_and_no_editor(fitted: Path) -> None:
    told = run(*FIT)
    assert "backup: 60 flows are too few to fit, but 32% of the bytes" in " ".join(told.split())
    file = "flows-fit/specification.toml"
    predicted = run("predict", file, "--json")
    classes = {each["name"]: each for each in predicted["classes"]}
    assert [classes[name]["verdict"] for name in CLASSES] == ["met", "met", None]
    # The class that was not fitted brings its bytes.
    load = {each["name"]: each["payload"] for each in predicted["load"]["classes"]}
    for name, (_, flows, mean) in CLASSES.items():
        assert load[name] == pytest.approx(flows * mean * 8 / SPAN_S / 100e9, rel=0.05), name
    codes = {each["name"]: each["dscp"] for each in predicted["spec"]["classes"]}
    assert codes == {name: [code] for name, (code, _, _) in CLASSES.items()}
    made = run("plan", file, "--json")["plan"]
    assert made["success"] and made["verdict"] == "met"
    # Forecasts of every load are asked, that of the class without an SLO too.
    asked = {each["class"]: each for each in made["off_forecast"] if each["change"] == "+20%"}
    assert asked.keys() == CLASSES.keys() and asked["backup"]["worst_loss"] is not None


def test_the_rare_classs_flows_are_there_for_as_long_as_a_run_lasts(fitted: Path) -> None:
    run(*FIT)
    drawn = planning.flows("flows-fit/specification.toml", 30_000)
    rare = drawn.filter(pl.col("traffic_class") == "backup")
    share = float(rare["size_bytes"].sum()) / float(drawn["size_bytes"].sum())
    assert len(rare) > 4 * 60 and share == pytest.approx(0.32, abs=0.03)
    last: Any = drawn["start_s"].max()
    assert rare["start_s"].max() > 0.95 * last > 3 * SPAN_S


def test_a_load_that_cannot_be_meant_is_doubted(fitted: Path) -> None:
    assert re.search(r"together 2\d\.\d Gbps: a load of 0\.2\d+ on 100 Gbps$", run(*FIT), re.M)
    # Seconds instead of milliseconds.
    told = run(*FIT, "--time", "flowStartMilliseconds:s", "--end", "flowEndMilliseconds:s")
    assert "so little that a unit or the link may be wrong" in told
    # A class of the first third of the log.
    start = pl.col("flowStartMilliseconds") - pl.col("flowStartMilliseconds").min()
    log = pl.read_csv("flows.csv")
    log.filter((pl.col("ipClassOfService") != 40) | (start < 200)).write_csv("flows.csv")
    assert re.search(r"rpc: its flows start within 3\d% of the log's time", run(*FIT))


def test_what_cannot_be_scaled_is_not_provisioned() -> None:
    found = planning.predict(spec(slo="tail < 1.5"))
    assert "fctlab provision s.json" in advice.after(found, "s.json")[1]
    ends = [*found.spec["classes"], {"name": "other", "trace": "log.csv"}]
    both = structs.replace(found, spec={**found.spec, "classes": ends})
    command = advice.after(both, "s.json")[1].partition(": ")[2]
    assert command == "fctlab whatif s.json --vary network.link=100Gbps,150Gbps,200Gbps,400Gbps"


def test_a_code_of_two_classes_is_of_none(fitted: Path) -> None:
    name = (
        pl.when(pl.col("octetDeltaCount") < 10_000).then(pl.lit("small")).otherwise(pl.lit("big"))
    )
    pl.read_csv("flows.csv").with_columns(name.alias("class")).write_csv("flows.csv")
    run("fit", "flows.csv", "--link", "100Gbps", "--rtt", "10us")
    classes = planning.load("flows-fit/specification.toml")["classes"]
    assert {each["name"]: each.get("dscp") for each in classes} == {"small": None, "big": [8]}


def test_slos_name_their_slis(fitted: Path) -> None:
    run(*FIT, "--slo", "web=short_p99 < 3 and long_mean_fct < 1ms and p1_throughput > 1Mbps")
    classes = planning.load("flows-fit/specification.toml")["classes"]
    web = next(each for each in classes if each["name"] == "web")
    assert [(s["name"], s["metric"], s["attr"]) for s in web["slis"]] == [
        ("short_p99", "p99", "slowdown"),
        ("long_mean_fct", "mean", "fct"),
        ("p1_throughput", "p1", "throughput"),
        ("long_p99", "p99", "slowdown"),
        ("mean", "mean", "slowdown"),
    ]
    assert (web["slis"][0]["below"], web["slis"][1]["from"]) == ("125KB", "125KB")


def test_mistakes_of_who_asks(fitted: Path, program: Program) -> None:
    def error(*arguments: str) -> str:
        done = program(*arguments)
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
        assert not (fitted / "flows-fit").exists()
        return str(done.stderr).strip()

    assert "--slo: 'x' is not a class of the log; it has" in error(*FIT, "--slo", "x=p99 < 2")
    assert "--slo: backup has too few flows for an SLO" in error(*FIT, "--slo", "backup=p99 < 2")
    assert "--slo: 'tail' in 'tail < 2' is not an SLI" in error(*FIT, "--slo", "tail < 2")
    assert "--names: 'rpc' is not VALUE=NAME" in error("fit", "flows.csv", "--names", "rpc")
    assert "--slo: takes --link and --rtt" in error("fit", "flows.csv", "--slo", "p99 < 5")
    slow = [*FIT[:3], "10Gbps", *FIT[4:]]
    assert "the classes offer" in error(*slow)


def test_a_log_of_few_flows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("start_s,size\n1,5\n")
    from fctlab.slo import fit

    with pytest.raises(SpecError, match="class all: has 1 flows; at least 100 are needed"):
        fit.fit(tmp_path / "log.csv")


def spec(**changed: Any) -> dict[str, Any]:
    """A class at load 0.3 whose p99 slowdown is about 2.5."""
    tail = {"name": "tail", "metric": "p99"}
    rate = {"name": "rate", "metric": "mean", "attr": "throughput"}
    one = {"name": "a", "flowsizes": {"kind": "fixed", "size": "100KB"}, "load": 0.3}
    one |= {"slis": [tail, rate], "slo": "tail < 4"}
    network = {"link": "100Gbps", "rtt": "10us"}
    return {"network": network, "cc": "swp-d", "classes": [{**one, **changed}]}


def test_verdicts_say_by_how_much() -> None:
    missed = planning.predict(spec(slo="tail < 1.5 and rate > 1Gbps")).classes[0]
    assert missed.verdict == "violated" and missed.loss is not None
    assert words.outcome(missed) == f"violated by {missed.slis[0].value / 1.5 - 1:.0%}"
    table = words.slos("", [missed])
    assert [column.name for column in table.columns] == [
        *("class", "SLO", "SLI", "value", "target", "99% interval", "flows")
    ]
    tail, rate = table.rows
    low, high = missed.slis[0].ci99
    assert tail[4:6] == ("< 1.50", f"{low:.2f} to {high:.2f}")
    assert rate[3].endswith(" Gbps") and rate[4] == "> 1.00 Gbps"
    met = planning.predict(spec()).classes[0]
    assert words.outcome(met) == f"met by {1 - met.slis[0].value / 4:.0%}"


@pytest.mark.parametrize(
    ("slo", "limit", "code"), [("tail < 4", "", 0), ("tail < 1.5", "", 3), ("tail < 4", "500", 4)]
)
def test_check_ends_with_the_verdict(tmp_path: Path, slo: str, limit: str, code: int) -> None:
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec(slo=slo)))
    limited = ["--most-flows", limit] if limit else []
    done = CliRunner().invoke(app, ["predict", str(file), "--check", *limited])
    assert done.exit_code == code, done.output
    assert CliRunner().invoke(app, ["predict", str(file), *limited]).exit_code == 0


def test_a_plan_ends_in_what_to_do(fitted: Path) -> None:
    run(*FIT)
    file = "flows-fit/specification.toml"
    told = " ".join(run("plan", file, "--most-flows", "20000", "--out", "planned").split())
    made = json.loads((fitted / "planned" / "plan.json").read_text())["plan"]
    names = [each["name"] for each in made["classes"]]
    weights = dict(zip(names, made["weights"], strict=True))
    listed = ", ".join(f"{name} {weight}" for name, weight in weights.items())
    assert f"Set the weights of the link's queues: {listed}." in told
    assert ("to spare" in told and "off by 20%" in told) or "Watch the forecasts" in told
    assert "algorithm 1" not in told and "worst loss" not in told
    # The specification that it leaves has the weights; the page is there.
    written = planning.load("planned/specification.json")
    assert {each["name"]: each["weight"] for each in written["classes"]} == weights
    assert (fitted / "planned" / "report.html").is_file()
    verbose = run("plan", file, "--most-flows", "20000", "--verbose")
    assert "algorithm 1: worst loss" in verbose and "if a forecast is off" in verbose


def test_progress_counts_flows_and_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    found = planning.plan(spec(), told=seen.append)
    assert seen == sorted(seen) and 0 < seen[-1][1] <= found.cost.flows
    now = iter(range(0, 100, 2))
    monkeypatch.setattr("fctlab.cli.progress.time.monotonic", lambda: float(next(now)))
    with progress.of_answer(True) as told:
        assert told is not None
        told((3, 12_345))
    assert capsys.readouterr().err == "12.3 k flows, 3 runs, 6 s\n"
    with progress.of_answer(None) as told:
        assert told is None  # Not a terminal, and nobody asked.
    with progress.of_points(None, 2) as tell:
        tell("x=1")
        tell("x=2")
    assert capsys.readouterr().err == "1 of 2: x=1\n2 of 2: x=2\n"


def log_of_the_model(folder: Path, *, also: int = 0) -> None:
    """A log of what the model itself does, and flows of 1 MB that somebody paced to 1 Gbps."""
    drawn = planning.flows({**spec(), "cc": "dctcp-rate"}, 20_500).head(20_000)
    columns = {"start_s": "start_s", "size": "size_bytes", "fct_s": "fct_s"}
    flows = drawn.select(**{to: pl.col(name) for to, name in columns.items()})
    starts = np.linspace(0, float(drawn["start_s"].max()), also)  # type: ignore[arg-type]
    slow = {"start_s": starts, "size": [1_000_000] * also, "fct_s": [8e-3] * also}
    pl.concat([flows, pl.DataFrame(slow, schema=flows.schema)]).write_csv(folder / "log.csv")


@pytest.mark.parametrize("also", [0, 200])
def test_the_log_stands_beside_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, also: int
) -> None:
    monkeypatch.chdir(tmp_path)
    log_of_the_model(tmp_path, also=also)
    run("fit", "log.csv", "--link", "100Gbps", "--rtt", "10us", "--slo", "p99 < 9")
    found = planning.predict("log-fit/specification.toml")
    (seen,) = found.measured
    assert (seen.flows, seen.paced, seen.too_short) == (20_000, also, 0)
    drawn = pl.read_csv("log.csv").head(20_000)
    slowdowns = drawn["fct_s"] / (10e-6 + drawn["size"] * 8 / 100e9)
    values = dict(zip(seen.slis, seen.values, strict=True))
    assert values["mean"] == pytest.approx(slowdowns.mean(), rel=1e-6)
    assert values["p99"] == pytest.approx(slowdowns.quantile(0.99, "higher"), rel=1e-3)
    told = " ".join(run("predict", "log-fit/specification.toml").split())
    assert " log value " in told and "differ" not in told
    assert ("200 flows of the log (1%) are told apart" in told) == bool(also)


def test_durations_that_cannot_be_are_told(fitted: Path) -> None:
    log = pl.read_csv("flows.csv").with_columns(flowEndMilliseconds="flowStartMilliseconds")
    log.with_columns(octetDeltaCount=pl.col("octetDeltaCount") + 500_000).write_csv("flows.csv")
    run(*FIT)
    told = " ".join(run("predict", "flows-fit/specification.toml", "--most-flows", "5000").split())
    assert "web: 100% of the log's durations are shorter than the link allows" in told


def test_a_link_that_was_busy_is_why_a_flow_was_slow() -> None:
    # 100 MB at 1 Gbps for 0.8 s; a third of the link beside it, or all that is left of it.
    flows = {"start_s": [0.0, 0.0], "bytes": [100_000_000, 3_000_000_000]}
    for other, expected in ((3_000_000_000, [True, True]), (9_800_000_000, [False, False])):
        table = pl.DataFrame({**flows, "bytes": [100_000_000, other], "duration_s": [0.8, 0.8]})
        found = measured.paced(table, 100e9, 10e-6).tolist()
        assert found == [expected[0], other * 8 / 0.8 < 0.5 * 100e9], other
    unknown = pl.DataFrame({**flows, "duration_s": [None, 0.24]})
    assert not measured.paced(unknown, 100e9, 10e-6).any()
