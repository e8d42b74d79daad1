"""Tables that others wrote, and damaged ones of ours: one error, whatever polars does."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from fctlab import readable
from fctlab.errors import SpecError
from tests.conftest import Program

FOUND = Path(__file__).parents[2] / "fuzz/corpus/logs/damaged-page"
"""Of fuzzing: Parquet, behind a byte, of which polars panics."""


def test_a_log_of_which_polars_panics_is_one_error(program: Program, tmp_path: Path) -> None:
    (tmp_path / "log.parquet").write_bytes(FOUND.read_bytes()[1:])
    done = program("fit", "log.parquet", "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: log.parquet: it is damaged\n"
    assert not (tmp_path / "out").exists()


def test_a_damaged_result_is_one_error(program: Program, small: Path, tmp_path: Path) -> None:
    program("run", small, "--out", "out")
    flows = tmp_path / "out/flows.parquet"
    whole = flows.read_bytes()
    damage = {"cut": whole[:3000], "turned": whole[:8] + bytes(len(whole) // 2) + whole[-2000:]}
    for name, data in damage.items():
        flows.write_bytes(data)
        for command in ("plot", "report"):
            done = program(command, "out")
            assert done.returncode == 2, (name, done.stderr)
            says = "error: out: is not whole, a file of it cannot be read: "
            assert done.stderr.startswith(says) and done.stderr.count("\n") == 1, done.stderr
    flows.unlink()
    for command in ("plot", "report"):
        said = program(command, "out").stderr
        assert said.startswith("error: out: is not whole, ") and "out/flows.parquet" in said, said


def test_what_is_printed_meanwhile_comes_out_unless_it_is_of_a_panic(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with readable.one_error("file"):
        os.write(2, b"polars warns\n")
    assert capfd.readouterr().err == "polars warns\n"
    says = r"^file: cannot be read: it is damaged$"
    with pytest.raises(SpecError, match=says), readable.one_error("file"):
        os.write(2, b"thread panicked\n")
        raise pl.exceptions.PanicException
    assert capfd.readouterr().err == ""
    says = r"^file: cannot be read: no such file$"
    with pytest.raises(SpecError, match=says), readable.one_error("file"):
        pl.read_parquet("/nowhere/flows.parquet")
