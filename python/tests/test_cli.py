from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fctlab
from tests.conftest import PROGRAM, SCENARIOS, SMALL, Program


def names(directory: Path) -> set[str]:
    return {entry.name for entry in directory.iterdir()}


RESULT = {
    "flows.parquet",
    "summary.csv",
    "scenario.json",
    "report.json",
    "fct_cdf.png",
    "slowdown_by_size.png",
    "report.html",
}


@pytest.mark.usefixtures("with_figures")
def test_run_prints_a_table_and_saves_a_result(
    program: Program, small: Path, tmp_path: Path
) -> None:
    done = program("run", small, "--out", "out")
    assert done.returncode == 0, done.stderr
    for shown in ("small <= 100 KB", "slowdown", "packet-hops"):
        assert shown in done.stdout
    assert names(tmp_path / "out") == RESULT


@pytest.mark.usefixtures("with_figures")
def test_run_without_packets(program: Program, tmp_path: Path) -> None:
    scenario = Path(__file__).parents[2] / "scenarios" / "swp-websearch.toml"
    few = ("--set", "traffic.flows=2000")
    done = program("run", scenario, "--engine", "model", *few, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "on the functional model" in done.stdout and "packet-hops" not in done.stdout
    assert names(tmp_path / "out") == RESULT
    again = program("run", "out/scenario.json", "--out", "again")
    assert again.returncode == 0, again.stderr
    for name in ("flows.parquet", "scenario.json"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    given = ("--set", "engine.cc=swp-d")
    paper = program(
        "compare", scenario, "--schemes", "dctcp-rate", "--engine", "model", *few, *given
    )
    assert paper.returncode == 0, paper.stderr
    assert "steps of the model" in paper.stdout


def test_an_unknown_engine_is_refused(program: Program, small: Path, tmp_path: Path) -> None:
    refused(program("run", small, "--engine", "gas"), "known: packet, model", tmp_path)


def test_run_as_json_is_one_object_and_nothing_else(program: Program, small: Path) -> None:
    done = program("run", small, "--json", "--progress", "--seed", "7", "--set", "traffic.load=0.3")
    found = json.loads(done.stdout)
    assert found["scenario"]["seed"] == 7 and found["scenario"]["traffic"]["load"] == 0.3
    assert [row["class"] for row in found["summary"]] == ["all", "small", "medium", "large"]
    assert found["summary"][0].keys() >= {
        "scheme", "class", "flows", "avg_fct_s", "p50_fct_s", "p99_fct_s",
        "avg_slowdown", "p50_slowdown", "p99_slowdown",
    }  # fmt: skip
    assert found["counters"].keys() >= {
        "flows_started", "flows_finished", "data_packets", "retransmissions", "timeouts",
        "drops", "ecn_marks", "packet_hops", "events",
    }  # fmt: skip
    assert found["perf"].keys() >= {"wall_s", "packet_hops_per_s", "peak_rss_bytes"}
    assert found["counters"]["flows_finished"] == 300


def test_a_saved_run_runs_again_to_the_same_bytes(
    program: Program, small: Path, tmp_path: Path
) -> None:
    assert program("run", small, "--seed", "3", "--out", "first").returncode == 0
    assert program("run", "first/scenario.json", "--out", "second").returncode == 0
    for name in ("flows.parquet", "summary.csv", "scenario.json"):
        first, second = (tmp_path / out / name for out in ("first", "second"))
        assert first.read_bytes() == second.read_bytes(), name


@pytest.mark.usefixtures("with_figures")
def test_compare_saves_every_flow_and_every_run(
    program: Program, small: Path, tmp_path: Path
) -> None:
    done = program(
        "compare", small, "--schemes", "dctcp,pfabric", "--loads", "0.3,0.6", "--seeds", "2",
        "--out", "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "pfabric" in done.stdout and "load 0.6" in done.stdout and "2 seeds" in done.stdout
    assert names(tmp_path / "out") == RESULT | {
        "runs",
        "slowdown_by_load.png",
        "fct_by_load.png",
    }
    assert len(names(tmp_path / "out" / "runs")) == 8
    again = program("run", "out/runs/pfabric-0.6-2/scenario.json", "--out", "again")
    assert again.returncode == 0, again.stderr
    flows = [d / "flows.parquet" for d in (tmp_path / "again", tmp_path / "out/runs/pfabric-0.6-2")]
    assert flows[0].read_bytes() == flows[1].read_bytes()


def test_compare_does_not_depend_on_workers_and_runs_again_from_its_scenario(
    program: Program, small: Path, tmp_path: Path
) -> None:
    arguments = ("--schemes", "tcp,dctcp,pfabric", "--seeds", "2")
    for workers in ("1", "2"):
        done = program("compare", small, *arguments, "--workers", workers, "--out", f"w{workers}")
        assert done.returncode == 0, done.stderr
    assert program("compare", "w1/scenario.json", "--out", "again").returncode == 0
    for name in ("flows.parquet", "summary.csv", "scenario.json"):
        contents = {(tmp_path / out / name).read_bytes() for out in ("w1", "w2", "again")}
        assert len(contents) == 1, name


def test_compare_as_json(program: Program, small: Path) -> None:
    done = program("compare", small, "--schemes", "dctcp,pfabric", "--json")
    found = json.loads(done.stdout)
    assert [run["scheme"] for run in found["runs"]] == ["dctcp", "pfabric"]
    assert [row["scheme"] for row in found["summary"]][:1] == ["dctcp"]
    assert found["scenario"]["name"] == "small"


def test_schemes_may_be_tables_of_the_scenario(program: Program, small: Path) -> None:
    small.write_text(small.read_text() + '[schemes.sprayed]\npreset = "dctcp"\n[schemes.tcp]\n'
                     'preset = "tcp"\n')  # fmt: skip
    done = program("compare", small, "--json")
    assert done.returncode == 0, done.stderr
    assert [run["scheme"] for run in json.loads(done.stdout)["runs"]] == ["sprayed", "tcp"]


@pytest.mark.parametrize("place", list(fctlab.catalog()))
def test_list_shows_every_part(program: Program, place: str) -> None:
    table = program("list", place)
    assert table.returncode == 0
    parts = json.loads(program("list", place, "--json").stdout)[place]
    assert parts == fctlab.catalog()[place]
    for part in parts:
        assert part["name"] in table.stdout
        assert part["description"].endswith("."), part


def test_list_shows_all_places(program: Program) -> None:
    assert set(json.loads(program("list", "--json").stdout)) == {
        "schemes", "workloads", "topologies", "transports", "taggers", "disciplines", "engines",
        "routings", "arrivals", "patterns", "studies", "mappings", "policies", "queues",
        "congestion controls",
    }  # fmt: skip


def test_schema_and_version(program: Program) -> None:
    assert json.loads(program("schema").stdout) == fctlab.schema()
    assert program("--version").stdout == f"fctlab {fctlab.__version__} (release build)\n"


def test_a_closed_pipe_is_quiet(small: Path) -> None:
    command = f"{PROGRAM} schema | head -c 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("{", "")


BAD = {
    "load": (["--set", "traffic.load=1.3"], "traffic.load: 1.3 is not in (0, 1)"),
    "nan": (["--set", "traffic.load=nan"], "traffic.load"),
    "unknown key": (
        ["--set", "traffic.laod=0.3"],
        'traffic.laod: unknown key; did you mean "load"',
    ),
    "unit": (["--set", "topology.host_rate=10Gb"], "topology.host_rate"),
    "scheme": (["--set", "scheme=dtcp"], 'did you mean "dctcp"'),
    "assignment": (["--set", "traffic.load"], "--set"),
    "no flows": (["--set", "traffic.flows=0"], "traffic.flows: 0"),
    "seed": (["--seed", "-1"], "seed"),
    "option": (["--sed", "1"], "--sed"),
}


def refused(done: subprocess.CompletedProcess[str], message: str, tmp_path: Path) -> None:
    """One line on stderr, exit code 2, nothing written."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.rglob(".fctlab-*"))


@pytest.mark.parametrize("name", BAD)
def test_run_refuses(program: Program, small: Path, tmp_path: Path, name: str) -> None:
    arguments, message = BAD[name]
    refused(program("run", small, *arguments, "--out", "out"), message, tmp_path)


BAD_COMPARISON = {
    "unknown": (["--schemes", "dctcp,dtcp"], 'did you mean "dctcp"'),
    "twice": (["--schemes", "dctcp,tcp,dctcp"], "schemes: dctcp is listed 2 times"),
    "none": (["--schemes", ""], "--schemes"),
    "hole": (["--schemes", "dctcp,,tcp"], "--schemes"),
    "missing": ([], "schemes: is missing"),
    "loads": (["--schemes", "dctcp", "--loads", "0.5,high"], "--loads: 'high'"),
    "load": (["--schemes", "dctcp", "--loads", "0.5,1.5"], "--loads: 1.5 is not in (0, 1)"),
    "seeds": (["--schemes", "dctcp", "--seeds", "0"], "seeds: 0 is not at least 1"),
    "workers": (["--schemes", "dctcp", "--workers", "0"], "workers: 0 is not at least 1"),
}


@pytest.mark.parametrize("name", BAD_COMPARISON)
def test_compare_refuses(program: Program, small: Path, tmp_path: Path, name: str) -> None:
    arguments, message = BAD_COMPARISON[name]
    refused(program("compare", small, *arguments, "--out", "out"), message, tmp_path)


BAD_FILES: dict[str, tuple[str, bytes, str]] = {
    "toml": ("bad.toml", b'name = "x"\n[topology\n', "bad.toml:2: "),
    "yaml": ("bad.yaml", b"a: [1\n", "bad.yaml"),
    "json": ("bad.json", b'{"a": }', "bad.json"),
    "list": ("bad.json", b"[1]", "is not a scenario"),
    "empty": ("bad.toml", b"", "is missing"),
    "not utf-8": ("bad.toml", b'name = "\xff"', "is not UTF-8 text"),
    "suffix": ("bad.txt", b"", "its name ends in .toml"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_run_refuses_files(program: Program, tmp_path: Path, name: str) -> None:
    file, content, message = BAD_FILES[name]
    (tmp_path / file).write_bytes(content)
    refused(program("run", file, "--out", "out"), message, tmp_path)


def test_run_refuses_what_is_no_file(program: Program, tmp_path: Path) -> None:
    refused(program("run", "none.toml", "--out", "out"), "none.toml: no such file", tmp_path)
    refused(program("run", ".", "--out", "out"), "is a directory", tmp_path)


@pytest.mark.parametrize("command", [["run"], ["compare", "--schemes", "dctcp"]])
def test_an_output_that_cannot_be_is_refused(
    program: Program, small: Path, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "file").write_text("")
    for out in ("file", "file/below", "/proc/fctlab"):
        refused(program(*command, small, "--out", out), out, tmp_path)
    assert (tmp_path / "file").read_text() == ""


def test_unknown_places_and_areas_are_refused(program: Program, tmp_path: Path) -> None:
    refused(program("list", "schema"), "known: schemes", tmp_path)
    refused(program("bench", "pakcet"), "known: packet", tmp_path)


TRACES: dict[str, tuple[str, str]] = {
    "itself": ("0,1,1,100", "src"),
    "host": ("0,0,99,100", "99"),
    "order": ("1,0,1,100\n0.5,0,1,100", "line 3"),
    "number": ("nan,0,1,100", "line 2"),
    "empty": ("", "trace"),
}


@pytest.mark.parametrize("name", TRACES)
def test_bad_traces_are_refused(program: Program, small: Path, tmp_path: Path, name: str) -> None:
    rows, message = TRACES[name]
    (tmp_path / "trace.csv").write_text(f"start_s,src,dst,size_bytes\n{rows}\n")
    traffic: dict[str, Any] = {"trace": "trace.csv"}
    scenario = fctlab.load_scenario(small).set("traffic", traffic)
    (tmp_path / "bad.json").write_text(json.dumps({**scenario.value, "traffic": traffic}))
    refused(program("run", "bad.json", "--out", "out"), message, tmp_path)


def test_errors_name_options_here_and_parameters_in_the_library(program: Program) -> None:
    with pytest.raises(fctlab.SpecError, match=r"^workers: 0 is not at least 1"):
        fctlab.compare(SMALL, ["dctcp"], workers=0)
    file = SCENARIOS / "star-incast.toml"
    for arguments, told in (
        (("compare", file, "--schemes", "dctcp", "--workers", "0"), "--workers: 0 is not"),
        (("run", file, "--engine", "x"), '--engine: "x" is not a kind of engine'),
        (("run", file, "--set", "engine=x"), '--set engine: "x" is not a kind of engine'),
        (("run", file, "--set", "x"), "--set: 'x' is not an assignment"),
        (("bench", "packet", "--runs", "0"), "--runs: 0 is not at least 1"),
    ):
        assert program(*arguments).stderr.startswith(f"error: {told}")


@pytest.mark.parametrize("line", ["--version", "list", "schema scenario"])
def test_what_computes_nothing_starts_without_its_libraries(line: str) -> None:
    """They take most of a start."""
    code = (
        "import sys\nfrom fctlab.cli.app import app\n"
        f"app({line.split()!r}, standalone_mode=False)\n"
        "heavy = {'numpy', 'polars', 'scipy', 'matplotlib', 'plotly', 'pyarrow'}\n"
        "sys.exit(f'imported: {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
