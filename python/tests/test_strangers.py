"""What SECURITY.md promises of files of strangers, promise by promise."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fctlab
from fctlab import formats
from tests.conftest import SMALL

ROOT = Path(__file__).parents[2]
NASTY = ('=HYPERLINK("http://x","y")', "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1")


@pytest.mark.parametrize("name", NASTY)
def test_text_that_a_spreadsheet_would_compute_is_text(name: str) -> None:
    table = pl.DataFrame({"name": [name, "web", None], "value": [-1.5, 2.0, 3.0]})
    rows = list(csv.reader(formats.csv(table).splitlines())) if "\r" not in name else []
    for row in rows[1:2]:
        assert row == ["'" + name, "-1.5"]
    assert ("'" + name) in formats.csv(table).replace('""', '"')
    assert "'web" not in formats.csv(table)


@pytest.mark.filterwarnings("ignore::fctlab.SpecWarning")
def test_names_of_a_trace_are_no_formulas_in_a_summary(tmp_path: Path) -> None:
    rows = [f'{i * 1e-5:.6f},0,1,2000,"=cmd|{i % 2}"' for i in range(4)]
    (tmp_path / "flows.csv").write_text(
        "\n".join(["start_s,src,dst,size_bytes,class", *rows]) + "\n"
    )
    scenario: dict[str, Any] = {**SMALL, "traffic": {"trace": str(tmp_path / "flows.csv")}}
    fctlab.run(scenario, out=tmp_path / "out")
    text = (tmp_path / "out" / "summary.csv").read_text()
    assert "'=cmd|0" in text and not re.search(r'(^|,)"?=', text, re.MULTILINE)


def test_every_promise_names_a_test_that_is_there() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "promise" not in line]
    assert len(rows) >= 6
    for row in rows:
        named = re.findall(r"`(test_\w+\*?\.py)(?: -k (\w+))?`", row)
        assert named, f"no test: {row}"
        for pattern, words in named:
            files = list((ROOT / "python" / "tests").glob(pattern))
            assert files, f"{pattern} is not there"
            tests = "".join(file.read_text() for file in files)
            assert not words or re.search(rf"def test_\w*{words}", tests), f"no test of {words}"
