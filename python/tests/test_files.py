from __future__ import annotations

import json
from pathlib import Path

import pytest

from fctlab import SpecError, files, load_scenario
from fctlab.slo import planning
from fctlab.sweep import grid
from fctlab.theory import bigswitch
from tests.conftest import SCENARIOS, Program

SCENARIO = SCENARIOS / "star-incast.toml"
SPECIFICATION = SCENARIOS / "slo-two-classes.toml"
SWEEP = 'scenario = "star-incast.toml"\nseeds = 3\n'
INSTANCE = "ingress_ports = 1\negress_ports = 1\nflows = []\n"
A_SCENARIO = "is a scenario, for `fctlab run`, `fctlab compare`, `fctlab fabric predict`; "
WRONG = [
    ("run", SPECIFICATION, "is a specification of SLOs, for `fctlab predict`, `fctlab plan`, `f"),
    (
        "compare",
        SPECIFICATION,
        "is a specification of SLOs, for `fctlab predict`, `fctlab plan`, `f",
    ),
    ("predict", SCENARIO, A_SCENARIO + "a specification of"),
    (
        "plan",
        "sweep.toml",
        "is a sweep, for `fctlab sweep`; a specification of SLOs is needed",
    ),
    ("run", "instance.toml", "is an instance of the big switch, for `fctlab bigswitch run`; a sc"),
    ("sweep", SCENARIO, A_SCENARIO + "a sweep is needed"),
    ("bigswitch run", SCENARIO, A_SCENARIO + "an instance of"),
]


@pytest.mark.parametrize(("command", "file", "told"), WRONG)
def test_a_file_of_another_kind_says_who_reads_it(
    tmp_path: Path, program: Program, command: str, file: Path | str, told: str
) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "instance.toml").write_text(INSTANCE)
    options = ["--schemes", "dctcp"] if command == "compare" else []
    done = program(*command.split(), str(tmp_path / file), *options)
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].startswith(f"error: {tmp_path / file}: {told}")


def test_what_is_no_kind_of_file_is_told_by_who_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("x = 1\n")
    with pytest.raises(SpecError, match=r"a\.toml: scheme: is missing"):
        load_scenario(file).resolve()


def test_percent_and_names_change_scenarios_as_specifications() -> None:
    changed = load_scenario(SCENARIO).with_sets(["traffic.load=0.5", "traffic.load=+20%"])
    assert changed.resolve()["traffic"]["load"] == 0.6
    halved = planning.load(SPECIFICATION, ["classes.storage.interarrivals.sigma=-50%"])
    assert halved["classes"][1]["interarrivals"]["sigma"] == 0.75
    with pytest.raises(SpecError, match=r"^sets: 'a' is not an assignment"):
        files.assignments(["a"])


@pytest.mark.parametrize("kind", ["scenario", "specification"])
def test_both_have_a_schema(program: Program, kind: str) -> None:
    found = json.loads(program("schema", kind).stdout)
    assert found["type"] == "object" and kind in found["title"]
    assert "error: schema: 'x' is not what has a schema" in program("schema", "x").stderr


LINES = {
    "a value": ("a.toml", "traffic", "load = 1.3", "12: traffic.load: 1.3 is not in (0, 1)"),
    "a key": ("a.toml", "traffic", "laod = 0.3", "12: traffic.laod: unknown key; did you mean "),
    "a key in a table": (
        "a.toml",
        "scheme",
        "transport = { min_rto = 5 }",
        "16: scheme.transport.min_rto: 5 is not a time",
    ),
    "a table that lacks a key": ("a.toml", "topology", "", "4: topology.host_rate: is missing"),
    "syntax": ("a.toml", "traffic", "load = = 3", "12: "),
}


def written(section: str, line: str) -> str:
    """A scenario in TOML whose sections end in given lines."""
    more = {"topology": 'host_rate = "10Gbps"', "traffic": "load = 0.5", "scheme": ""}
    more[section] = line
    return (
        'name = "a"\nseed = 1\n\n[topology]\nkind = "star"\nsenders = 4\nbase_rtt = "20us"\n'
        f'{more["topology"]}\n\n[traffic]\nworkload = "websearch"\n{more["traffic"]}\n'
        f'flows = 10\n[scheme]\npreset = "dctcp"\n{more["scheme"]}\n'
    )


@pytest.mark.parametrize("case", LINES)
def test_a_mistake_names_file_and_line(case: str, program: Program, tmp_path: Path) -> None:
    name, section, line, message = LINES[case]
    (tmp_path / name).write_text(written(section, line))
    assert program("run", name).stderr.startswith(f"error: {name}:{message}")


def test_mistakes_in_yaml_json_and_dhall(tmp_path: Path) -> None:
    wrong = {
        "a.yaml": "topology: {kind: star, senders: 4, host_rate: 10Gbps}\ntraffic:\n  load: 7\n",
        "a.json": '{"topology": {"kind": "star", "senders": 4, "host_rate": "10Gbps"},\n'
        ' "scheme": "dctcp",\n "traffic": {"load": 7}}',
        "b.yaml": "topology: {kind: star\ntraffic: 3\n",
        "b.json": '{"topology": {"kind": "star"},\n "traffic" 3}',
    }
    starts = {
        "a.yaml": "a.yaml:3: traffic.load: 7 is not in (0, 1)",
        "a.json": "a.json:3: traffic.load: 7 is not in (0, 1)",
        "b.yaml": "b.yaml:2: ",
        "b.json": "b.json:2: expected `:`",
    }
    for name, text in wrong.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(SpecError) as raised:
            load_scenario(tmp_path / name).set("scheme", "dctcp").resolve()
        assert str(raised.value).startswith(f"{tmp_path}/{starts[name]}"), raised.value


def test_what_was_changed_is_not_looked_for_in_the_file(program: Program, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(written("scheme", ""))
    said = program("run", "a.toml", "--set", "traffic.load=1.3").stderr
    assert said == "error: --set traffic.load: 1.3 is not in (0, 1)\n"
    said = program("run", "a.toml", "--engine", "gas").stderr
    assert said.startswith('error: --engine: "gas" is not')
    with pytest.raises(SpecError, match=r"^set traffic.load: 1.3 is not"):
        load_scenario(tmp_path / "a.toml").set("traffic.load", 1.3).resolve()


def test_mistakes_in_other_files_name_their_lines(tmp_path: Path) -> None:
    specification = SPECIFICATION.read_text().replace('rtt = "10us"', "rtt = 10")
    (tmp_path / "slos.toml").write_text(specification)
    with pytest.raises(SpecError, match=r"slos\.toml:6: network\.rtt: 10 is not a time"):
        planning.load(tmp_path / "slos.toml")
    (tmp_path / "star-incast.toml").write_text(SCENARIO.read_text())
    (tmp_path / "sweep.toml").write_text(SWEEP + "loads = [0.5, 0.5]\n")
    with pytest.raises(SpecError, match=r"sweep\.toml:3: loads: 0.5 is listed 2 times"):
        grid.read(tmp_path / "sweep.toml")
    (tmp_path / "a.toml").write_text("ingress_ports = 1\negress_ports = 1\n\nflows = [3]\n")
    with pytest.raises(SpecError, match=r"a\.toml:4: flows\[0\]"):
        bigswitch.load(tmp_path / "a.toml")
