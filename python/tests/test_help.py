"""What the program says of itself, what it writes to begin with, names that are nearly right."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import fctlab
from fctlab import _native
from fctlab.cli import init
from fctlab.cli.app import app
from fctlab.cli.catalog import SCHEMAS
from fctlab.scenario import toml
from fctlab.slo import planning
from tests.conftest import SCENARIOS, Program

SLOW = (
    *("testbed build", "testbed run", "host attach", "host set-thresholds"),
    *("plan", "provision", "whatif", "calibrate", "study", "bench", "compare", "export"),
    *("fabric verify", "fabric plan", "fabric whatif", "fabric accuracy"),
)
"""Commands whose examples take more than a few seconds: they are parsed."""


def commands(command: Any, *names: str) -> Iterator[tuple[str, Any]]:
    """Every command with its name."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, *names, name)
    if not hasattr(command, "commands"):
        yield " ".join(names), command


COMMANDS = dict(commands(typer.main.get_command(app)))


def lines(command: Any) -> list[str]:
    """The examples of a command's help."""
    return re.findall(r"\[cyan\](.*?)\[/cyan\]", command.epilog or "")


def ask(line: str) -> None:
    """Runs a line in this process."""
    app(shlex.split(line)[1:], standalone_mode=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_an_example_of_the_command(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = lines(COMMANDS[name])
    assert examples and examples[-1].startswith(f"fctlab {name}")
    ask(f"fctlab {name} -h")
    shown = capsys.readouterr().out
    assert all(each in " ".join(shown.split()) for each in examples)
    for each in examples:
        last = next(n for n in COMMANDS if f"{each} ".startswith(f"fctlab {n} "))
        given = shlex.split(each.partition(" > ")[0])[1 + len(last.split()) :]
        COMMANDS[last].make_context(last, given)


def test_examples_run_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(SCENARIOS)
    quick = [
        each for name, command in COMMANDS.items() if name not in SLOW for each in lines(command)
    ]
    for line in dict.fromkeys(quick):
        ask(line)
    saved = {"mine", "seen", "quick"}
    assert saved <= {each.name for each in (tmp_path / "results").iterdir()}


def test_fctlab_alone_is_no_error(program: Program) -> None:
    for group in ((), ("bigswitch",), ("store",)):
        done = program(*group)
        assert (done.returncode, done.stderr) == (0, "")
        assert "Usage: " in done.stdout


KEY = re.compile(r"(# )?(\w+) = (.*)")


def described(schema: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Everything that a schema says of keys of a name."""
    found = []

    def look(node: Any) -> None:
        if isinstance(node, dict):
            here = node.get("properties", {})
            if isinstance(here, dict) and isinstance(here.get(key), dict):
                found.append(here[key])
            for inner in node.values():
                look(inner)
        elif isinstance(node, list):
            for inner in node:
                look(inner)

    look(schema)
    return found


def defaults(node: dict[str, Any]) -> set[str]:
    """The default of a key, as the schema or its words have it."""
    said = re.findall(r"Default: (.*?)\.(?: |$)", " ".join(node.get("description", "").split()))
    return {*said, toml(node["default"])} if node.get("default") else set(said)


@pytest.mark.parametrize("kind", init.KINDS)
@pytest.mark.filterwarnings("error")
def test_init_writes_what_resolves_and_explains_its_keys(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ask(f"fctlab init {kind} mine.toml")
    of = init.KINDS[kind].schema
    if of == "scenario":
        fctlab.load_scenario("mine.toml").resolve()
    else:
        planning.load("mine.toml")
    text, schema = Path("mine.toml").read_text(), SCHEMAS[of]()
    assert text.isascii() and max(map(len, text.splitlines())) <= 100
    comment = stated = ""
    for line in text.splitlines():
        found = KEY.fullmatch(line)
        if found:
            known = described(schema, found[2])
            assert known, line
            for default in re.findall(r"Default: (.*?)\.(?: |$)", comment):
                stated += default
                assert any(default in defaults(each) for each in known), line
        is_comment = line.startswith("# ") and not found
        comment = f"{comment} {line[2:]}" if is_comment else ""
    assert stated


@pytest.mark.parametrize("kind", init.KINDS)
def test_what_init_shows_as_possible_is(kind: str, tmp_path: Path) -> None:
    whole = init.written(kind, tmp_path / "mine.toml")
    shown = [line for line in whole.splitlines() if re.match(r"# (\w+ = |\[)", line)]
    assert len(shown) > 3
    for line in shown:
        text = whole.replace(line, line.removeprefix("# "))
        if line == "# [record]":
            continue
        if line.startswith("# waits"):
            text = text.replace("# [record]", "[record]")
        tables = json.loads(_native.parse(text, "toml"))
        if init.KINDS[kind].schema == "scenario":
            fctlab.load_scenario(tables).resolve()
        else:
            planning.load(tables)


def test_init_refuses(program: Program, tmp_path: Path) -> None:
    there = tmp_path / "there.toml"
    there.write_text("mine")
    done = program("init", "scenario", str(there))
    assert (done.returncode, done.stderr) == (
        2,
        f"error: {there} is there already; nothing is written over it\n",
    )
    assert there.read_text() == "mine"
    assert "'x.toml' is not what it writes; known: scenario" in program("init", "x.toml").stderr
    assert "did you mean 'scenario'?" in program("init", "scenari", "x.toml").stderr
    assert "x.yaml is no .toml file" in program("init", "scenario", "x.yaml").stderr
    missing = program("init", "scenario", str(tmp_path / "no" / "x.toml"))
    assert missing.returncode == 2 and "No such file" in missing.stderr


NEARLY = {
    "a study": ("study adz", "did you mean 'ads'?"),
    "a scheme": ("compare {mine} --schemes dctpc,pias", 'did you mean "dctcp"?'),
    "a claim": ("study ads --only adz-1", "did you mean 'ads-1'?"),
    "a workload": ("run {mine} --set traffic.workload=websaerch", 'did you mean "websearch"?'),
    "a topology": ("run {mine} --set topology.kind=leafspine", 'did you mean "leaf-spine"?'),
    "a workload of thresholds": ("thresholds --workload webserch", 'did you mean "websearch"?'),
    "a set of thresholds": (
        "run {mine} --set scheme=pias --set scheme.port.discipline.thresholds=websearch-0.5",
        "did you mean",
    ),
    "a place": ("list scheme", "did you mean 'schemes'?"),
    "a schema": ("schema scenarios", "did you mean 'scenario'?"),
    "an area": ("bench pakcet", "did you mean 'packet'?"),
    "an engine": ("predict {slos} --engine modle", "did you mean 'model'?"),
    "a strategy": ("provision {slos} --strategies fifo,wieghts", "did you mean 'weights'?"),
    "a class": ("predict {slos} --set classes.wbe.load=0.1", 'did you mean "web"?'),
    "a policy": ("bigswitch run figure-1 --policy sprt", 'did you mean "srpt"?'),
    "a method": ("bigswitch opt figure-1 --method milpp", "did you mean 'milp'?"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    made = {name: folder / kind.file for name, kind in init.KINDS.items()}
    for name, file in made.items():
        file.write_text(init.written(name, file))
    return {file.stem: file for file in made.values()}


@pytest.mark.parametrize("case", NEARLY)
def test_did_you_mean(case: str, files: dict[str, Path]) -> None:
    line, hint = NEARLY[case]
    with pytest.raises(fctlab.SpecError) as raised:
        ask("fctlab " + line.format(**files))
    assert hint in str(raised.value)


LISTS = {
    "no schemes": ("compare {mine} --schemes ''", "--schemes: is empty"),
    "an empty scheme": ("compare {mine} --schemes dctcp,,pias", "--schemes: '' in 'dctcp,,pias'"),
    "a scheme twice": ("compare {mine} --schemes pias,pias", "--schemes: pias is listed 2 times"),
    "a load twice": ("compare {mine} --schemes pias --loads 0.3,0.30", "--loads: 0.3 is listed 2"),
    "no claims": ("study ads --only ''", "--only: is empty"),
    "a claim twice": ("study ads --only ads-1,ads-1", "--only: ads-1 is listed 2 times"),
    "no strategies": ("provision {slos} --strategies ''", "--strategies: is empty"),
    "a strategy twice": ("provision {slos} --strategies fifo,fifo", "fifo is listed 2 times"),
    "a load of calibrate": ("calibrate {slos} --scheme hpcc --loads 0.3,x", "--loads: 'x'"),
    "a policy twice": ("bigswitch run figure-1 --policy las --policy las", "las is listed 2"),
    "a value twice": ("whatif {slos} --vary seed=1,2 --vary seed=3,4", "--vary: seed is listed 2"),
}


@pytest.mark.parametrize("case", LISTS)
def test_lists_are_neither_empty_nor_have_anything_twice(case: str, files: dict[str, Path]) -> None:
    line, message = LISTS[case]
    with pytest.raises(fctlab.SpecError) as raised:
        ask("fctlab " + line.format(**files))
    assert message in str(raised.value)
