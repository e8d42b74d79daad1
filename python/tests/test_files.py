from __future__ import annotations

import json
from pathlib import Path

import pytest

from fctlab import SpecError, files, load_scenario
from fctlab.slo import planning
from tests.conftest import SCENARIOS, Program

SCENARIO = SCENARIOS / "star-incast.toml"
SPECIFICATION = SCENARIOS / "slo-two-classes.toml"
SWEEP = 'scenario = "star-incast.toml"\nseeds = 3\n'
INSTANCE = "ingress_ports = 1\negress_ports = 1\nflows = []\n"
WRONG = [
    ("run", SPECIFICATION, "is a specification of SLOs, for `fctlab predict`, `fctlab plan`, `f"),
    (
        "compare",
        SPECIFICATION,
        "is a specification of SLOs, for `fctlab predict`, `fctlab plan`, `f",
    ),
    ("predict", SCENARIO, "is a scenario, for `fctlab run`, `fctlab compare`; a specif"),
    (
        "plan",
        "sweep.toml",
        "is a sweep, for `fctlab sweep`; a specification of SLOs is needed",
    ),
    ("run", "instance.toml", "is an instance of the big switch, for `fctlab bigswitch run`; a sc"),
    ("sweep", SCENARIO, "is a scenario, for `fctlab run`, `fctlab compare`; a sweep is needed"),
    ("bigswitch run", SCENARIO, "is a scenario, for `fctlab run`, `fctlab compare`; an inst"),
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
    with pytest.raises(SpecError, match=r"^scheme: is missing"):
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
    assert "error: kind: 'x' has no schema" in program("schema", "x").stderr
