"""The pages of the documentation: commands run and print what is shown, sentences are short.

``FCTLAB_PIN=1 .venv/bin/pytest python/tests/test_pages.py`` writes what commands print into the
pages. CONTRIBUTING.md ("Pages") has the marks.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from fctlab.cli.app import app, main
from tests import pages
from tests.conftest import PROGRAM, SCENARIOS
from tests.pages import ROOT, Block

MOST_WORDS = 40
IN_A_SHELL = re.compile(r"[|<>;&$`*]")
PAGES = [page for page in pages.pages() if pages.blocks(page.read_text(encoding="utf-8"))]


class Terminal(io.StringIO):
    """Eighty columns without colours (with ``TERM=dumb``)."""

    def isatty(self) -> bool:
        return True


def arguments(command: str) -> list[str] | None:
    """Of ``fctlab``, where a command is nothing but that."""
    words = shlex.split(command, comments=True)
    plain = not IN_A_SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", command.partition(" #")[0]))
    named = bool(words) and words[0].removeprefix(".venv/bin/") == "fctlab"
    return words[1:] if plain and named else None


@cache
def program() -> Any:
    """The program as its parser has it."""
    return typer.main.get_command(app)


def named(given: list[str]) -> tuple[Any, str, list[str]]:
    """The command that arguments name, its name, and the rest of them."""
    command: Any = program()
    name, rest = "fctlab", given
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        name, *rest = rest
        assert name in command.commands, f"fctlab has no command {name}"
        command = command.commands[name]
    return command, name, rest


def parse(given: list[str]) -> None:
    """Reads arguments as the program does, without running it."""
    command, name, rest = named(given)
    if not {"--help", "-h", "--version"} & set(rest):
        command.make_context(name, list(rest))


def check(command: str) -> None:
    """What can be said of a command that is not run."""
    for part in re.split(r"\s(?:\||&&|;)\s", command):
        words = shlex.split(part, comments=True)
        words = words[: words.index(">")] if ">" in words else words
        if words[:1] == ["make"]:
            targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert set(words[1:]) <= set(targets), part
        elif words and words[0].removeprefix(".venv/bin/") == "fctlab" and "..." not in words:
            parse(words[1:])


def run(command: str, more: str) -> tuple[str, int]:
    """What a command prints, and its exit code."""
    given, added = arguments(command), shlex.split(more)
    if given and added and any(added[0] in param.opts for param in named(given)[0].params):
        given += added
    if given is None:
        done = subprocess.run(command, shell=True, text=True, capture_output=True, timeout=120)
        return done.stdout, done.returncode
    shown, said = Terminal(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(said):
        patch.setattr("sys.argv", ["fctlab", *given])
        with contextlib.redirect_stdout(shown), pytest.raises(SystemExit) as end:
            main()
    assert end.value.code in (0, 3, 4), f"{command}\n{said.getvalue()}"
    return shown.getvalue(), int(end.value.code or 0)


def alike(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; ``...`` stands for anything."""
    lines = [
        "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
        for text in (shown, printed)
    ]
    pattern = ".*".join(map(re.escape, lines[0].split("...")))
    return re.fullmatch(pattern, lines[1], re.DOTALL) is not None


def walk(found: list[Block], whole: bool = False) -> list[tuple[Block, str]]:
    """Does what the blocks of a page say; those that show something else than was printed.

    Args:
        found: the blocks.
        whole: nothing is made shorter.
    """
    wrong = []
    printed: str | None = None
    for block in found:
        file = block.marked("write")
        if file is not None:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            printed = None
            if (reason := block.marked("not run")) is not None:
                assert reason, f"line {block.line}: say why it is not run"
                for command in pages.commands(block):
                    check(command)
                continue
            more = None if whole else block.marked("run with")
            wanted = int(block.marked("exits") or 0)
            outputs = [run(command, more or "") for command in pages.commands(block)]
            assert outputs[-1][1] == wanted, f"line {block.line}: ends with {outputs[-1][1]}"
            printed = None if more else "".join(text for text, _ in outputs)
        elif block.language == "text" and printed is not None:
            if not alike(block.text, printed):
                wrong.append((block, printed))
            printed = None
    return wrong


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory with the scenarios, where pages are walked through."""
    shutil.copytree(SCENARIOS, tmp_path / "scenarios")
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    monkeypatch.chdir(tmp_path)
    for key, value in {"TERM": "dumb", "NO_COLOR": "1", "MPLBACKEND": "agg"}.items():
        monkeypatch.setenv(key, value)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("PATH", f"{Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=pages.name)
def test_commands_of_a_page(page: Path, place: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = pages.blocks(text)
    pin = bool(os.environ.get("FCTLAB_PIN"))
    wrong = walk(found, whole=pin)
    for shown, made in pages.pictures(text):
        if pin:
            (page.parent / shown).parent.mkdir(exist_ok=True)
            shutil.copyfile(made, page.parent / shown)
        assert Path(made).exists() and (page.parent / shown).exists(), shown
    if pin:
        for block, printed in wrong:
            text = text.replace(f"```text\n{block.text}", f"```text\n{printed.strip(chr(10))}\n", 1)
        page.write_text(text, encoding="utf-8")
        return
    for block, printed in wrong:
        pytest.fail(f"line {block.line} shows something else than\n{printed}")


@pytest.mark.parametrize("page", pages.pages(), ids=pages.name)
def test_sentences_of_a_page_are_short(page: Path) -> None:
    found = pages.sentences(page.read_text(encoding="utf-8"))
    long = [f"{pages.words(each)}: {each}" for each in found if pages.words(each) > MOST_WORDS]
    assert long == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_outside_of_the_site_are_alive(name: str) -> None:
    assert list(pages.dead_links(ROOT / name)) == []


def test_pages_that_code_names_are_there() -> None:
    command = [
        "git",
        "grep",
        "--untracked",
        "-hoE",
        r"\bdocs/[A-Za-z0-9_/.-]+\.(md|jsonl|ipynb|sh|yaml)",
    ]
    named = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True).stdout
    assert {page for page in named.split() if not (ROOT / page).exists()} == set()


def test_a_dead_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# A b\n[x](b.md) [y](a.md#a-b) [z](#c) [w](https://x) `[v](d.md)`\n")
    assert list(pages.dead_links(page)) == ["b.md", "#c", "d.md"]


def test_sentences_are_told_apart() -> None:
    text = """# A title

A sentence, e.g. of
two lines. `code` begins the next (with 1.5 Gbps). Is it?

- an item
  of two lines
- another. With two.

| a | b |
|---|---|
| cell one. Two | x |

```sh
not counted
```
"""
    assert list(pages.sentences(text)) == [
        "A title",
        "A sentence, e.g. of two lines.",
        "`code` begins the next (with 1.5 Gbps).",
        "Is it?",
        "an item of two lines",
        "another.",
        "With two.",
        *("a", "b", "---", "---", "cell one.", "Two", "x"),
    ]
    assert pages.words("one = two, *3*") == 3


def test_a_page_is_walked_through(place: Path) -> None:
    page = """
<!-- write a.toml -->
```toml
scenario = "scenarios/star-incast.toml"
```

```sh
fctlab list taggers    # a comment
cat a.toml
```

```text
taggers
...
scenario = "scenarios/star-incast.toml"
```

<!-- not run: takes hours -->
```sh
fctlab study ads --full \\
    --only ads-1
```

<!-- write b.txt
hidden
-->
<!-- run with: --set traffic.load=0.05 -->
```sh
fctlab run scenarios/star-incast.toml --json
```
"""
    assert walk(pages.blocks(page)) == []
    assert Path("b.txt").read_text() == "hidden\n"
    ((block, printed),) = walk(pages.blocks(page.replace("...\n", "")))
    assert block.line == 12 and printed.startswith("taggers")
    with pytest.raises(Exception, match="--onyl"):
        walk(pages.blocks(page.replace("--only", "--onyl")))
    with pytest.raises(AssertionError, match="no command studi"):
        walk(pages.blocks(page.replace("study", "studi")))
    with pytest.raises(AssertionError, match="not run"):
        walk(pages.blocks(page.replace(": takes hours", ":")))
