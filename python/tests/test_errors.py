"""The catalogue of errors: each that the code makes is provoked by a test, or is in the list.

What the code makes is found in its sources (`docs/ext/reference/errors.py`), so an error is new
when it is written. Its case is a test of Python or Rust, or a page whose commands are run, that has
words of it. `errors_untried.txt` has those without one: a new error is not to be among them, and a
case takes its line out (``FCTLAB_PIN=1`` writes the list).
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from reference import errors

UNTRIED = Path(__file__).with_name("errors_untried.txt")
CASES = ("python/tests/**/*.py", "python/tests/pinned/*", "crates/*/tests/**/*.rs", "docs/**/*.md")
EMPTY_WORDS = re.compile(r"\b(invalid|illegal|malformed|bad|oops)\b", re.IGNORECASE)


@cache
def tried() -> str:
    """Whatever tests say, on one line."""
    texts = [f.read_text(encoding="utf-8") for glob in CASES for f in errors.ROOT.glob(glob)]
    for file in errors.CRATES.glob("*/src/**/*.rs"):
        text = file.read_text(encoding="utf-8")
        is_test = file.name == "tests.rs" or file.parent.name == "tests"
        texts.append(text if is_test else text.partition("#[cfg(test)]")[2])
    return flat("\n".join(texts))


def flat(text: str) -> str:
    """Without what only says how a text is written: joints, escapes, lines."""
    joined = re.sub(r'\\\n\s*|"\s*\n\s*[rf]*"', "", text)
    return " ".join(joined.replace("\\", "").split())


ENOUGH = 5
"""Words in a row that a test has to have of an error, or all there are between two holes."""


def has_case(error: errors.Error) -> bool:
    """Whether words of an error stand in a test: of its longest part, so many in a row."""
    words = flat(max(error.says.split(errors.HOLE), key=len)).strip(" :;,.").split()
    starts = range(max(1, len(words) - ENOUGH + 1))
    return any(" ".join(words[start : start + ENOUGH]) in tried() for start in starts)


def test_every_error_has_a_case() -> None:
    without = sorted({f"{e.place}: {flat(e.says)}" for e in errors.found() if not has_case(e)})
    if os.environ.get("FCTLAB_PIN"):
        UNTRIED.write_text("\n".join(without) + "\n")
    listed = UNTRIED.read_text().splitlines()
    assert sorted(set(without) - set(listed)) == [], "no test provokes these errors"
    assert sorted(set(listed) - set(without)) == [], "these have a case now: take them out"


def test_errors_say_what_is_wrong_and_not_that_something_is() -> None:
    """What was found and what is allowed stand there; a word such as "invalid" stands for both."""
    assert [e for e in errors.found() if EMPTY_WORDS.search(e.says)] == []


def test_the_page_has_every_error() -> None:
    page = errors.page("")
    assert all(f"## `{Path(e.place).parent}`" in page for e in errors.found())
    assert page.count("\n* ") == len(errors.found())
