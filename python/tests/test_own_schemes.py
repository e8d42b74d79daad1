"""Schemes without compiling: tables of a scenario, and presets in directories of one's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fctlab
from fctlab import _native, sweep
from fctlab.scenario import PRESETS

SCENARIO: dict[str, Any] = {
    "scheme": "dctcp",
    "topology": {"kind": "star", "senders": 4, "host_rate": "10Gbps", "base_rtt": "20us"},
    "traffic": {"workload": "imc10", "load": 0.5, "flows": 50},
    "measure": {"warmup": "0s"},
}
MINE = """\
# DCTCP whose ports send by remaining size. An example.
preset = "dctcp"
tagger = "remaining"

[port]
discipline = "srpt"
"""


@pytest.fixture
def presets(tmp_path: Path) -> Path:
    """A directory with two presets, of which one changes the other; and a file of another kind."""
    directory = tmp_path / "presets"
    directory.mkdir()
    (directory / "mine.toml").write_text(MINE)
    changed = 'preset = "mine"\n[port]\nbuffer = "50pkt"\n'
    (directory / "a-small-buffer.toml").write_text(changed)
    (directory / "notes.md").write_text("not a preset")
    return directory


def written(tmp_path: Path, **more: object) -> Path:
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps({**SCENARIO, **more}))
    return file


def program(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fctlab", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


def scheme_of(scenario: fctlab.Scenario, name: str) -> dict[str, Any]:
    return dict(scenario.with_scheme(name).resolve()["scheme"])


def test_a_table_of_the_scenario_is_a_scheme_wherever_one_is_named() -> None:
    tables = {"mine": {"preset": "dctcp", "tagger": "remaining", "port": {"discipline": "srpt"}}}
    tables["other"] = {"preset": "mine", "port": {"buffer": "50pkt"}}
    loaded = fctlab.load_scenario({**SCENARIO, "schemes": tables})
    mine, other = (scheme_of(loaded, name) for name in ("mine", "other"))
    assert mine["port"]["discipline"]["kind"] == "srpt"
    assert other == {**mine, "name": "other", "port": other["port"], "nic": other["nic"]}
    assert other["port"] == {**mine["port"], "buffer": "50pkt"}
    assert loaded.set("scheme", "mine").resolve()["scheme"] == mine
    compared = fctlab.compare(loaded, ["mine", "dctcp"])
    assert [cell.scheme for cell in compared.cells] == ["mine", "dctcp"]


def test_tables_that_name_each_other_are_refused() -> None:
    tables = {"a": {"preset": "b"}, "b": {"preset": "a"}}
    loaded = fctlab.load_scenario({**SCENARIO, "schemes": tables})
    with pytest.raises(fctlab.SpecError, match="name each other"):
        loaded.with_scheme("a").resolve()


def test_a_directory_of_presets_by_key_option_environment_and_python(
    presets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {"preset": "dctcp", "tagger": "remaining", "port": {"discipline": "srpt"}}
    expected = scheme_of(fctlab.load_scenario({**SCENARIO, "schemes": {"mine": table}}), "mine")
    by_key = fctlab.load_scenario(written(tmp_path, presets="presets"))
    by_argument = fctlab.load_scenario(SCENARIO, presets=presets)
    by_set = fctlab.load_scenario(written(tmp_path)).set("presets", "presets")
    for loaded in (by_key, by_argument, by_set):
        assert scheme_of(loaded, "mine") == expected
        assert loaded.set("scheme", "mine").resolve()["scheme"] == expected
        assert scheme_of(loaded, "a-small-buffer")["port"]["buffer"] == "50pkt"
    # No scheme is compared that nobody named.
    with pytest.raises(fctlab.SpecError, match="name one or more"):
        fctlab.compare(by_key)
    file = written(tmp_path)
    found = program("run", file, "--presets", presets, "--set", "scheme=mine", "--json")
    assert json.loads(found.stdout)["scenario"]["scheme"] == expected
    monkeypatch.setenv(PRESETS, str(presets))
    assert scheme_of(fctlab.load_scenario(file), "mine") == expected
    # Named twice, it is one directory.
    assert scheme_of(fctlab.load_scenario(file, presets=presets), "mine") == expected


def test_what_is_saved_runs_without_the_directory(presets: Path, tmp_path: Path) -> None:
    file, out = written(tmp_path, presets="presets"), tmp_path / "out"
    compared = program("compare", file, "--schemes", "dctcp,mine", "--out", out)
    assert compared.returncode == 0, compared.stderr
    (run,) = (out / "runs").glob("mine*")
    saved = json.loads((run / "scenario.json").read_text())
    assert "presets" not in saved and str(presets) not in json.dumps(saved)
    (presets / "mine.toml").unlink()
    again = fctlab.run(saved)
    assert again.flows.equals(fctlab.load(run).flows)


def test_sweeps_have_them_too(presets: Path, tmp_path: Path) -> None:
    asked = {"scenario": str(written(tmp_path)), "schemes": ["dctcp", "mine"]}
    by_key = sweep.sweep({**asked, "presets": str(presets)}, out=tmp_path / "one")
    given = sweep.sweep(asked, presets=presets, out=tmp_path / "two", store=by_key.store.directory)
    assert (by_key.computed, given.computed) == (2, 0)


def test_they_are_listed_with_what_they_are(presets: Path) -> None:
    found = program("list", "schemes", "--presets", presets, "--json")
    own = {part["name"]: part["description"] for part in json.loads(found.stdout)["schemes"]}
    sentence = "DCTCP whose ports send by remaining size."
    assert own["mine"] == f"{sentence} ({presets / 'mine.toml'})"
    assert own.keys() - {part["name"] for part in fctlab.catalog()["schemes"]} == {
        "mine",
        "a-small-buffer",
    }


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "mine",
            MINE.replace("discipline", "disciplin"),
            "line 6: port.disciplin: unknown key;",
        ),
        ("mine", MINE.replace('"srpt"', '"sprt"'), 'line 6: port.discipline.kind: "sprt" is not a'),
        ("mine", MINE.replace('"dctcp"', '"dtcp"'), 'line 2: preset: "dtcp" is not a preset; did'),
        ("mine", MINE.replace('"srpt"', ""), "line 6: "),
        ("mine", 'tagger = "none"\n', "transport: is missing"),
        ("dctcp", MINE, 'fctlab has a preset "dctcp" of its own; rename the file'),
    ],
)
def test_a_mistake_is_told_with_file_and_line(
    presets: Path, tmp_path: Path, name: str, text: str, told: str
) -> None:
    """Also of what is not run, and of what only another one changes."""
    (presets / f"{name}.toml").write_text(text)
    found = program("run", written(tmp_path), "--presets", presets)
    assert found.returncode == 2
    assert found.stderr.startswith(f"error: {presets / name}.toml: {told}"), found.stderr
    assert found.stderr.count("\n") == 1


def test_directories_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path)
    missing = program("run", file, "--presets", tmp_path / "none")
    assert f"error: --presets: {tmp_path / 'none'} is no directory" in missing.stderr
    (tmp_path / "empty").mkdir()
    empty = program("run", file, "--presets", tmp_path / "empty")
    assert "holds no presets, which are files NAME.toml" in empty.stderr
    monkeypatch.setenv(PRESETS, str(tmp_path / "none"))
    assert f"error: {PRESETS}: {tmp_path / 'none'} is no directory" in program("run", file).stderr
    monkeypatch.delenv(PRESETS)
    with pytest.raises(fctlab.SpecError, match="3 is not a directory"):
        fctlab.load_scenario({**SCENARIO, "presets": 3}, presets=tmp_path).resolve()


def test_two_directories_with_one_name(presets: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.toml").write_text(MINE)
    loaded = fctlab.load_scenario({**SCENARIO, "presets": [str(presets), str(other)]})
    with pytest.raises(fctlab.SpecError, match=r"has the name of .*; rename one of them"):
        loaded.resolve()


def test_presets_that_are_compiled_in_are_checked_where_they_are_listed() -> None:
    """What `make build` and `make dev` end with."""
    assert len(json.loads(_native.catalog([]))["schemes"]) > 20
