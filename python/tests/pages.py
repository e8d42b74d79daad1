"""What pages of the documentation hold: prose, blocks, and what invisible comments say of these.

CONTRIBUTING.md has the marks ("Pages").
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]

FENCE = re.compile(
    r"(?:^[ ]*<!--\s*(?P<mark>[^\n]*?)\s*-->\n)?"
    r"^[ ]*(?P<ticks>`{3,})(?P<language>[\w-]*)[^\n]*\n(?P<text>.*?)^[ ]*(?P=ticks)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
HIDDEN = re.compile(r"^<!-- write (?P<file>\S+)\n(?P<text>.*?)^-->$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(
    r"^!\[[^\]]*\]\((?P<shown>[^)]+)\)\n<!-- picture (?P<made>\S+) -->$", re.MULTILINE
)
GENERATED = re.compile(r"<!-- begin (\S+) -->.*?<!-- end \1 -->", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block, or a file that a comment holds.

    Attributes:
        language: of the fence; empty of a comment.
        text: without the fence.
        mark: what the comment above it says; empty without one.
        line: of its fence, from 1.
    """

    language: str
    text: str
    mark: str
    line: int

    def marked(self, word: str) -> str | None:
        """What follows ``word`` in the mark; None where it is another."""
        found = re.fullmatch(rf"{word}\b:?\s*(.*)", self.mark)
        return found[1] if found else None


@cache
def pages() -> tuple[Path, ...]:
    """README and every page that is kept, without what is made when the site is built."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "README.md", "docs"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=True,
    )
    names = sorted(set(listed.stdout.split()))
    files = [ROOT / name for name in names if name.endswith(".md")]
    return tuple(file for file in files if file.exists())


def name(page: Path) -> str:
    """A page from the root, as tests are called."""
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> list[Block]:
    """Its blocks, in order."""
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("ticks")) + 1
        inner = dedent(match["text"])
        found.append(Block(match["language"], inner, match["mark"] or "", line))
    for match in HIDDEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block("", match["text"], f"write {match['file']}", line))
    return sorted(found, key=lambda block: block.line)


def pictures(text: str) -> list[tuple[str, str]]:
    """Its pictures that commands make: the name that the page has, and that of the command."""
    return [(match["shown"], match["made"]) for match in PICTURE.finditer(text)]


def commands(block: Block) -> Iterator[str]:
    """Its commands, one a line; a backslash or a quotation that is open continues a line."""
    begun = ""
    for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
        begun = f"{begun}\n{line}".strip()
        try:
            words = shlex.split(begun, comments=True)
        except ValueError:
            continue
        if words:
            yield begun
        begun = ""


# Links

HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
TARGET = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")


def dead_links(page: Path) -> Iterator[str]:
    """Links to files that are not there, or to headings that a page does not have."""
    text = COMMENT.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    for target, anchor in TARGET.findall(text):
        file = page.parent / target if target else page
        there = file.exists()
        if there and anchor and file.suffix == ".md":
            there = anchor in map(slug, HEADING.findall(file.read_text(encoding="utf-8")))
        if not there:
            yield f"{target}#{anchor}" if anchor else target


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub has it."""
    return re.sub(r"[^\w\- ]", "", LINK.sub(r"\1", heading).lower()).strip().replace(" ", "-")


# Prose

END = re.compile(r"(?<=[.!?])[\"')*_\]]*\s+(?![a-z])")
ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|vs|cf|etc|et al|Fig|Sec|Eq|No|approx)\.$")
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def sentences(text: str) -> Iterator[str]:
    """Sentences of paragraphs, items, headings and cells of tables.

    Blocks have none, nor has what a command wrote between its two marks.
    """
    for passage in _passages(COMMENT.sub("", FENCE.sub("\n", GENERATED.sub("\n", text)))):
        begun = ""
        for part in END.split(LINK.sub(r"\1", passage)):
            begun = f"{begun} {part}".strip()
            if not ABBREVIATED.search(begun):
                yield begun
                begun = ""
        if begun:
            yield begun


def words(sentence: str) -> int:
    """How many words: what has a letter or a digit; code counts by its words."""
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def _passages(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        inner = line.strip()
        alone = inner.startswith(("|", "#", ":::"))
        if not inner or alone or ITEM.match(line):
            if lines:
                yield " ".join(lines)
            lines = []
        if inner.startswith("|"):
            yield from filter(None, map(str.strip, inner.split("|")))
        elif inner.startswith("#"):
            yield inner.lstrip("# ")
        elif not alone and inner:
            lines.append(ITEM.sub("", line, count=1).strip())
