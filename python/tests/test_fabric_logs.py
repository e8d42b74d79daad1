"""`fctlab fabric import`, `sampling` and `watch`: flow logs as traffic of a fabric."""

from __future__ import annotations

import json
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from fctlab import fabric
from fctlab.cli.app import app
from fctlab.errors import SpecError
from fctlab.fabric import asked, cutting, importing, samples, underway, watching, windows
from fctlab.fabric.importing import Wanted
from fctlab.fabric.louder import faster
from fctlab.fabric.types import Case, FabricImport
from fctlab.results.result import simulate
from fctlab.scenario import load_scenario
from fctlab.slo import fit
from tests.conftest import EIGHT_HOSTS

pytestmark = pytest.mark.filterwarnings("ignore::fctlab.SpecWarning")

ROOT = Path(__file__).parents[2]
RATES = "1MB=1,10KB=0.25,0B=0.03"
TAIL = [{"name": "tail", "metric": "p99"}]


def spec(**changes: Any) -> dict[str, Any]:
    """Eight hosts in two racks; small flows and large ones."""
    sizes = {"kind": "uniform", "sizes": ["2KB", "20KB"]}
    classes: list[dict[str, Any]] = [
        {"class": "rpc", "workload": sizes, "share": 1, "dscp": [34], "slo": "tail < 6"},
        {"class": "bulk", "workload": {"kind": "fixed", "size": "60KB"}, "dscp": [10]},
    ]
    tables = {
        "name": "small",
        "engine": "fluid",
        "topology": dict(EIGHT_HOSTS),
        "traffic": {
            "load": 0.5,
            "flows": 8000,
            "classes": [{**each, "slis": TAIL} for each in classes],
        },
        "scheme": {
            "preset": "dctcp-rate",
            "port": {"discipline": {"kind": "wfq", "weights": [3, 1]}},
        },
    }
    return tables | changes


@pytest.fixture(scope="module")
def flows() -> pl.DataFrame:
    """Of the scenario, on the fluid."""
    found: pl.DataFrame = simulate(load_scenario(spec()).resolve(), None, lambda _: None).flows
    return found


@pytest.fixture(scope="module")
def rows(flows: pl.DataFrame) -> pl.DataFrame:
    """The same as an exporter writes them."""
    codes = {"rpc": 34, "bulk": 10}
    return flows.select(
        (pl.col("start_s") + 1000.5).alias("start_s"),
        (pl.col("start_s") + pl.col("fct_s") + 1000.5).alias("end_s"),
        pl.col("size_bytes").alias("bytes"),
        ("10.0.0." + pl.col("src").cast(pl.String)).alias("src"),
        ("10.0.0." + pl.col("dst").cast(pl.String)).alias("dst"),
        pl.col("traffic_class").cast(pl.String).replace_strict(codes).alias("dscp"),
    )


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    file = tmp_path / "hosts.csv"
    lines = [f"10.0.0.{number},{number}" for number in range(8)]
    file.write_text("\n".join(["address,host", *lines]) + "\n")
    return file


@pytest.fixture
def log(rows: pl.DataFrame, tmp_path: Path) -> Path:
    file = tmp_path / "log.csv"
    rows.write_csv(file, float_precision=9)
    return file


def test_a_log_becomes_a_scenario(log: Path, hosts: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "small.json", tmp_path / "out"
    file.write_text(json.dumps(spec()))
    given = ["fabric", "import", str(log), "--topology", str(file), "--out", str(out)]
    told = CliRunner().invoke(app, [*given, "--hosts", str(hosts), "--json"])
    assert told.exit_code == 0, told.exception
    made = json.loads(told.stdout)
    assert (made["records"], made["flows"], len(made["windows"])) == (8000, 8000, 1)
    assert [each["name"] for each in made["classes"]] == ["rpc", "bulk"]
    assert {each.name for each in out.iterdir()} == {
        "fabric-import.json",
        "scenario.json",
        "window-0.parquet",
    }
    found = fabric.predict(out / "scenario.json")
    # The log is of the same engine: what it measured is what is predicted.
    for each, seen in zip(found.classes, found.measured, strict=True):
        assert seen.values[0] == pytest.approx(each.slis[0].value, rel=0.05)
        assert seen.counts[0] == each.slis[0].flows
    classes = asked.load(out / "scenario.json").classes
    assert [(each.name, each.dscp) for each in classes] == [("rpc", (34,)), ("bulk", (10,))]
    plain = CliRunner().invoke(app, [*given, "--hosts", str(hosts), "--force"])
    assert "busiest" in plain.stdout and "dscp, DSCPs" in plain.stdout


def imported(rows: pl.DataFrame, folder: Path, **given: Any) -> FabricImport:
    log = folder / "rows.csv"
    rows.write_csv(log, float_precision=9)
    tables = given.pop("tables", spec())
    return importing.imported([log], tables, folder, Wanted(**given))


def test_windows_are_the_busiest_the_median_and_a_random_one(
    rows: pl.DataFrame, hosts: Path, tmp_path: Path
) -> None:
    start = rows["start_s"].to_numpy()
    span = float(start[-1] - start[0])
    made = imported(rows, tmp_path, hosts=hosts, window=f"{round(span / 5.5 * 1e6)}us")
    picked = [each.pick for each in made.windows]
    assert picked == ["busiest", "median", "random"]
    offered = [each.bytes for each in made.windows]
    assert offered[0] == max(offered) and len({each.begin_s for each in made.windows}) == 3
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(made.scenario))
    read = asked.load(file)
    assert [trace.name for trace in read.traces] == [each.file for each in made.windows]

    def of(purpose: windows.Purpose) -> list[str]:
        numbers = windows.seeds(read, purpose, 9)
        run = [windows._tables(read, number)["traffic"]["trace"] for number in numbers]
        return [Path(trace).name for trace in run]

    everything = [each.file for each in made.windows]
    assert of("predict") == of("verify") == everything
    # Nothing is judged on windows that it was chosen on.
    assert of("search") == everything[::2] and of("judge") == everything[1::2]
    found = fabric.verify(file)
    assert len(found.windows) == 3 and "less than 1,000" in found.warnings[-1]
    cases = fabric.whatif(file).cases
    assert any(each.what == "spine 0 down" for each in cases)
    said = {each.what: each for each in cases}
    assert "a tenant more, of what a rack brings (+50%)" in said
    assert said["rpc +20%"].sets == ("flows of rpc: 1.2 times as many",)
    assert said["rpc +20%"].classes[0].slis[0].flows > 1.1 * found_of(cases, "spine 0 down")
    one = fabric.plan({**made.scenario, "traffic": one_window(read)}, budget=3, verify=False)
    assert "the trace is one window: weights are judged on" in one.warnings[-1]
    assert any(each.name.startswith("link ") for each in one.candidates)


def test_flows_under_way_go_on_with_what_is_left_of_them() -> None:
    # Windows of a second begin at 10 s; the first tenth takes what is under way.
    log = pl.DataFrame(
        {
            "start_s": [0.0, 9.0, 9.0, 9.9, 9.95, 10.5],
            "duration_s": [20.0, 2.0, 1.0, None, 0.05001, 3.0],
            "bytes": [2_000_000, 1_000, 500, 700, 900, 10],
            "weight": [1.0, 2.0, 1.0, 1.0, 1.0, 1.0],
        }
    )
    rest = underway.resumed(log, cutting.Cut("median", 10.0, 1.0, 0.0), 1)
    assert rest["start_s"].to_list() == pytest.approx([0.0, 0.025, 0.05])
    # A record of weight 2 stands for two flows; of the last one nothing is left at 0.075 s.
    assert rest["bytes"].to_list() == [1_000_000, 488, 475]
    assert rest["duration_s"].null_count() == 3 and rest["weight"].to_list() == [1.0] * 3
    nothing = underway.resumed(
        log.with_columns(duration_s=None), cutting.Cut("median", 10, 1, 0), 1
    )
    assert len(nothing) == 0


def found_of(cases: Sequence[Case], what: str) -> int:
    """Flows of the first class."""
    return next(each for each in cases if each.what == what).classes[0].slis[0].flows


@pytest.mark.parametrize(
    ("more", "starts"),
    [
        (0.0, [0.0, 1.0, 1.5, 6.0]),
        (0.5, [0.0, 1 / 1.5, 1.0, 4.0, 4.0, 7 / 1.5, 5.0]),
        (1.0, [0.0, 0.5, 0.75, 3.0, 3.0, 3.5, 3.75, 6.0]),
    ],
)
def test_a_louder_class_has_its_flows_faster_and_then_again(
    more: float, starts: list[float]
) -> None:
    flows = pl.DataFrame({"start_s": [0.0, 1.0, 1.5, 6.0], "dst": [0, 1, 2, 3]})
    made = faster(flows, more, 6.0)
    assert made["start_s"].to_list() == pytest.approx(starts)
    assert made["dst"].to_list() == [0, 1, 2, 3, 0, 1, 2, 3][: len(starts)]


def one_window(read: asked.Asked) -> dict[str, Any]:
    alone = read.traces[0].with_name("alone.parquet")
    alone.write_bytes(read.traces[0].read_bytes())
    return {**read.tables["traffic"], "trace": str(alone)}


def wrong(rows: pl.DataFrame, folder: Path, **given: Any) -> str:
    with pytest.raises(SpecError) as error:
        imported(rows, folder, **given)
    return str(error.value)


def test_what_is_wrong_with_a_log_is_one_line(
    rows: pl.DataFrame, hosts: Path, tmp_path: Path
) -> None:
    said = wrong(rows, tmp_path)
    assert "10.0.0." in said and "7 more is no host of the topology, whose hosts are 0, 1" in said
    assert "give it an address there, or name a file with --hosts" in said
    back = rows.with_columns(
        start_s=pl.col("start_s") - pl.when(pl.int_range(pl.len()) > 4000).then(90).otherwise(0),
        end_s=pl.col("end_s") - pl.when(pl.int_range(pl.len()) > 4000).then(90).otherwise(0),
    )
    said = wrong(back, tmp_path, hosts=hosts)
    assert "its clock was set back: line 4003 is 90" in said
    ahead = back.with_columns(
        start_s=pl.col("start_s") + 180 * (pl.int_range(pl.len()) > 4000),
        end_s=pl.col("end_s") + 180 * (pl.int_range(pl.len()) > 4000),
    )
    said = wrong(ahead, tmp_path, hosts=hosts)
    assert "no flow starts between" in said and said.endswith(
        "from its first: its clock was set forward, or it is two logs; cut it there"
    )
    other = rows.with_columns(dscp=pl.lit(12))
    said = wrong(other, tmp_path, hosts=hosts)
    assert "class dscp-12 (8,000 flows) is none of the scenario's, rpc (DSCP 34)" in said
    said = wrong(rows.drop("dscp"), tmp_path, hosts=hosts)
    assert "does not say of which class a flow is; the scenario's are rpc (DSCP 34)" in said
    assert "has no column of sources, such as src and dst: no flow has a way" in wrong(
        rows.drop("src"), tmp_path, hosts=hosts
    )
    said = wrong(rows, tmp_path, hosts=hosts, window="1s")
    assert "is longer than the log, whose flows start within" in said
    assert "'soon' is not a time above 0" in wrong(rows, tmp_path, hosts=hosts, window="soon")
    said = wrong(rows, tmp_path, hosts=hosts, windows=["worst"])
    assert "busiest, median, random" in said
    same = rows.with_columns(dst="src")
    assert "has no flow between two hosts" in wrong(same, tmp_path, hosts=hosts)
    said = wrong(rows.with_columns(weight=0.5), tmp_path, hosts=hosts)
    assert "is below 1: a record stands for itself" in said
    said = wrong(rows.with_columns(weight=2.0), tmp_path, hosts=hosts, sampled=RATES)
    assert "has weights of its own; leave it out" in said
    with pytest.raises(SpecError, match="there is none; name a flow log"):
        importing.imported([], spec(), tmp_path)


def test_what_is_wrong_with_a_scenario_is_one_line(
    rows: pl.DataFrame, hosts: Path, tmp_path: Path
) -> None:
    none = spec(traffic={"load": 0.5, "flows": 10, "workload": "websearch"})
    said = wrong(rows, tmp_path, hosts=hosts, tables=none)
    assert "is missing; write class, dscp, slis and slo of each class of the log" in said
    few = spec()
    del few["traffic"]["classes"][1]["dscp"]
    codes = {34: "rpc", 10: "bulk"}
    named = rows.with_columns(pl.col("dscp").replace_strict(codes).alias("class")).drop("dscp")
    said = wrong(named, tmp_path, hosts=hosts, tables=few)
    assert "traffic.classes[1].dscp: is missing in bulk" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("address,name\n10.0.0.1,0\n", "has no column host; it has address, name"),
        ("address,host\n10.0.0.1,99\n", "line 2: '99' is no host of the topology"),
        ("address,host\na,0\na,1\n", "line 3: a is there twice"),
        (None, "no such file"),
    ],
)
def test_what_is_wrong_with_a_file_of_hosts(
    text: str | None, said: str, rows: pl.DataFrame, tmp_path: Path
) -> None:
    file = tmp_path / "addresses.csv"
    if text is not None:
        file.write_text(text)
    assert said in wrong(rows, tmp_path, hosts=file)


def test_logs_of_one_clock_are_one(rows: pl.DataFrame, hosts: Path, tmp_path: Path) -> None:
    # Times of day, ToS bytes and packets, as nfdump writes them.
    moment = pl.from_epoch((pl.col("start_s") * 1e6).round().cast(pl.Int64), time_unit="us")
    nfdump = rows.select(
        moment.dt.strftime("%Y-%m-%d %H:%M:%S%.6f").alias("ts"),
        (pl.col("end_s") - pl.col("start_s")).alias("td"),
        pl.col("src").alias("sa"),
        pl.col("dst").alias("da"),
        pl.int_range(pl.len()).alias("sp"),
        pl.lit(2).alias("dp"),
        pl.lit("TCP").alias("pr"),
        (pl.col("dscp") * 4).alias("stos"),
        (pl.col("bytes") // 1000 + 1).alias("ipkt"),
        pl.col("bytes").alias("ibyt"),
    )
    logs = []
    for number in (1, 0):
        logs.append(tmp_path / f"{number}.csv")
        nfdump[number * 4000 : (number + 1) * 4000].write_csv(logs[-1])
    made = importing.imported(logs, spec(), tmp_path, Wanted(hosts=hosts))
    found = windows.flows_of(tmp_path / made.windows[0].file)
    start = rows["start_s"] - rows["start_s"][0]
    assert made.records == 8000
    assert np.abs(found["start_s"].to_numpy() - start.to_numpy()).max() < 3e-6
    assert "durations are from a flow's first packet to its last" in made.notes
    logged = pl.read_parquet(tmp_path / made.windows[0].file)["fct_s"]
    lasts = float((rows["end_s"] - rows["start_s"]).to_numpy().sum())
    # A one-way delay more: a flow is over when its last byte is delivered.
    assert float(logged.to_numpy().sum()) == pytest.approx(lasts + 8000 * 10e-6, rel=1e-3)


def test_hosts_have_addresses_in_their_topology() -> None:
    from fctlab.fabric import hosts as of_topology

    tables = {"hosts": ["a", {"name": "b", "address": "10.0.0.2"}]}
    assert of_topology.known(tables, 2) == {"a": 0, "b": 1, "10.0.0.2": 1}
    assert of_topology.known({}, 2) == {"0": 0, "1": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1MB=1,10KB=2", "'10KB=2' is not SIZE=SHARE with a share in (0, 1]"),
        (
            "big=1",
            "'big=1' is not SIZE=SHARE with a share in (0, 1], such as 1MB=1,10KB=0.25,0B=0.03",
        ),
        ("1MB=1", "says nothing of the smallest flows: add 0B=0.03"),
    ],
)
def test_rates_say_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(SpecError) as error:
        samples.Rates.read(text)
    assert said in str(error.value)


def bursty(sigma: float, seed: int) -> pl.DataFrame:
    """Flows of eight senders, each with gaps of its own."""
    rng = np.random.default_rng(seed)
    frames = []
    for source in range(8):
        gaps = rng.lognormal(0, sigma, 6000) if sigma else rng.exponential(1.0, 6000)
        times = np.cumsum(gaps)
        times = times[times > times[-1] / 2]
        times = (times - times[0]) / (times[-1] - times[0])
        sizes = rng.choice([2000, 50_000, 2_000_000], len(times), p=[0.6, 0.35, 0.05])
        receivers = (source + rng.integers(1, 8, len(times))) % 8
        columns = {"start_s": times, "bytes": sizes, "src": source, "dst": receivers}
        frames.append(pl.DataFrame(columns).with_columns(pl.lit("rpc").alias("class")))
    return pl.concat(frames).sort("start_s")


@pytest.mark.parametrize("sigma", [0.0, 2.0])
def test_samples_keep_bursts(sigma: float) -> None:
    whole = bursty(sigma, 1)
    thin = samples.thinned(whole, samples.Rates.read(RATES), 2)
    assert len(thin) < 0.2 * len(whole)
    again = samples.expanded(thin, 8, 1.0, 3)
    assert len(again) == pytest.approx(len(whole), rel=0.1)
    assert again["start_s"].is_sorted() and not (again["src"] == again["dst"]).any()
    # All that was recorded is there as it was.
    assert len(thin.drop("weight").join(again, on=["start_s", "src", "dst"], how="anti")) == 0

    def dispersion(flows: pl.DataFrame, window: float) -> float:
        of = [flows.filter(pl.col("src") == k)["start_s"].to_numpy() for k in range(8)]
        return float(np.mean([fit._dispersion(times, window, 1.0) for times in of]))

    for window in (0.002, 0.01):
        seen, found = dispersion(whole, window), dispersion(again, window)
        assert found == pytest.approx(seen, rel=0.3)
    copied = thin[np.repeat(np.arange(len(thin)), thin["weight"].round().cast(pl.Int64))]
    assert dispersion(copied, 0.002) > 3 * dispersion(whole, 0.002)


def test_a_sampled_log_is_expanded(rows: pl.DataFrame, hosts: Path, tmp_path: Path) -> None:
    thin = samples.thinned(rows, samples.Rates.read(RATES), 1)
    made = imported(thin.drop("weight"), tmp_path, hosts=hosts, sampled=RATES)
    assert made.records < 0.3 * len(rows)
    assert made.windows[0].flows == pytest.approx(len(rows), rel=0.1)
    weighted = imported(thin, tmp_path, hosts=hosts)
    assert weighted.flows == made.flows
    assert "weights: weight, flows that a record stands for" in weighted.notes
    with pytest.raises(SpecError, match="is sampled: its records have weights"):
        fit.fit(tmp_path / "rows.csv")


def test_sampling_says_what_it_costs(flows: pl.DataFrame, tmp_path: Path) -> None:
    trace = tmp_path / "window-0.parquet"
    flows.select("start_s", "src", "dst", "size_bytes", "traffic_class").write_parquet(trace)
    keys = ("class", "dscp", "slis", "slo")
    classes = [{k: v for k, v in e.items() if k in keys} for e in spec()["traffic"]["classes"]]
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(spec(traffic={"trace": str(trace), "classes": classes})))
    given = ["fabric", "sampling", str(file), "--sampled", RATES]
    told = CliRunner().invoke(app, [*given, "--json", "--tries", "2"])
    found = json.loads(told.stdout)
    assert 0.1 < found["records"] / found["flows"] < 0.25
    for each in found["slis"]:
        assert np.mean(each["sampled"]) == pytest.approx(each["all_flows"], rel=0.15)
    assert "of 8.00 k flows are recorded" in CliRunner().invoke(app, given).stdout
    drawn = tmp_path / "drawn.json"
    drawn.write_text(json.dumps(spec()))
    refused = CliRunner().invoke(app, ["fabric", "sampling", str(drawn), "--sampled", RATES])
    assert "fctlab fabric import makes a scenario of the flows" in str(refused.exception)
    none = CliRunner().invoke(app, [*given, "--tries", "0"])
    assert "0 is not at least 1" in str(none.exception)
    csv = spec(traffic={"trace": "flows.csv", "classes": classes})
    text = flows.select("start_s", "src", "dst", "size_bytes", "traffic_class").write_csv()
    (tmp_path / "flows.csv").write_text(text)
    (tmp_path / "csv.json").write_text(json.dumps(csv))
    other = CliRunner().invoke(
        app, ["fabric", "sampling", str(tmp_path / "csv.json"), "--sampled", RATES]
    )
    assert "is not in Parquet, as imported traces are" in str(other.exception)


def test_a_shift_is_answered_within_three_epochs(tmp_path: Path) -> None:
    hour = runpy.run_path(str(ROOT / "benches" / "watch_hour.py"))
    lived = list(hour["hour"](tmp_path, epochs=5, shift=2, around=0, seconds=0.05))
    assert not any(each.at_risk for each in lived[:2])
    answers = [each.number for each in lived if each.proposed]
    assert answers and 2 <= answers[0] < 5
    assert lived[-1].weights != lived[0].weights
    assert lived[-1].fluid < lived[2].fluid
    assert f"in force from epoch {answers[0] + 1}" in hour["summary"](lived, 2)


def test_packets_confirm_or_withdraw_weights(
    log: Path, hosts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = spec()
    tables["scheme"]["port"]["discipline"]["weights"] = [1, 40]
    tables["traffic"]["classes"][0]["slo"] = "tail < 4"
    file, out, logs = tmp_path / "small.json", tmp_path / "watched", tmp_path / "logs"
    file.write_text(json.dumps(tables))
    logs.mkdir()
    (logs / "one.csv").write_bytes(log.read_bytes())
    given = ["fabric", "watch", str(logs), "--topology", str(file), "--once", "--out", str(out)]
    run = CliRunner().invoke
    told = run(app, [*given, "--hosts", str(hosts)])
    assert "one.csv: at risk: rpc violated" in told.stdout, told.exception
    specification = out / "one.csv" / "specification.json"
    assert watching.confirmation(specification) == "open"
    verified = run(app, ["fabric", "verify", str(specification)])
    outcome = json.loads((out / "one.csv" / "confirmation.json").read_text())["outcome"]
    assert outcome in ("confirmed", "open") and outcome in verified.output
    (logs / "two.csv").write_bytes(log.read_bytes())
    then = json.loads(run(app, [*given, "--hosts", str(hosts), "--json"]).stdout)
    assert then["number"] == 1 and then["weights"]["port"] != [1, 40]
    # What is withdrawn is in force no more.
    kept = json.loads((out / "one.csv" / "confirmation.json").read_text())
    (out / "one.csv" / "confirmation.json").write_text(json.dumps(kept | {"outcome": "withdrawn"}))
    watch = watching.Watch(logs, file, out, wanted=Wanted(hosts=hosts))
    assert watch.fresh() == []
    ports = watch._in_force().value["scheme"]["port"]
    assert ports["discipline"]["weights"] == [1, 40]
    with pytest.raises(SpecError, match="is no directory of flow logs"):
        watching.Watch(tmp_path / "none", file, out).fresh()
    never = run(app, [*given, "--every", "0"])
    assert "0 is not above 0 seconds" in str(never.exception)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("10", "'10' is not VALUE=NAME, such as 0=rpc,10=storage"),
        ("0=rpc,0=web", "0 is named twice"),
    ],
)
def test_names_say_what_is_wrong(text: str, said: str) -> None:
    from fctlab.cli import logs

    with pytest.raises(SpecError, match="--names") as error:
        logs.names_of(text)
    assert said in str(error.value)
    assert logs.names_of("0=rpc, 10=storage") == {"0": "rpc", "10": "storage"}
