from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import fctlab
from fctlab import slo
from fctlab.cli.app import app
from fctlab.slo import calibrate, planning

SPEC: dict[str, Any] = {
    "network": {"link": "100Gbps", "rtt": "10us"},
    "classes": [
        {
            "name": "rpc",
            "flowsizes": "websearch_bytes",
            "load": 0.5,
            "interarrivals": {"kind": "lognormal", "sigma": 2},
        }
    ],
}


def test_fitted_parameters_are_nearer_than_those_they_start_from() -> None:
    found = calibrate.calibrate(SPEC, "dctcp-rate", preset="swp-d", loads=(0.6,), flows=2000)
    fit, held_out = found.errors
    assert (fit.held_out, held_out.held_out) == (False, True)

    def errors(row: slo.Misfit) -> tuple[float, float]:
        short = [b for b in row.bins if b.up_to_bdp]
        fitted = sum(abs(b.fitted / b.p99 - 1) for b in short)
        preset = sum(abs(b.preset / b.p99 - 1) for b in short)
        return fitted / len(short), preset / len(short)

    of_fitted, of_preset = errors(fit)
    assert of_fitted < 0.1 < 0.5 < of_preset
    of_fitted, of_preset = errors(held_out)
    assert of_fitted < 0.2 < 0.4 < of_preset


def test_parameters_go_into_a_specification(tmp_path: Path) -> None:
    cc = {"r_init": "line", "u_target": 0.95, "thresh": "300000B", "beta": 1.2, "eta": 1.9}
    (tmp_path / "spec.toml").write_text(
        'network = { link = "100Gbps", rtt = "10us" }\n'
        + calibrate.as_toml(slo.Calibration(scheme="hpcc", preset="swp-h", cc=cc, errors=()))
        + '[[classes]]\nname = "a"\nflowsizes = "google_rpc"\nload = 0.3\n'
    )
    assert planning.load(tmp_path / "spec.toml")["cc"]["eta"] == 1.9


def test_mistakes() -> None:
    with pytest.raises(fctlab.SpecError, match="'tcp' is not a scheme that has a model; known: dc"):
        calibrate.calibrate(SPEC, "tcp")
    traced = {**SPEC, "classes": [{"name": "log", "trace": "flows.csv"}]}
    with pytest.raises(fctlab.SpecError, match="a trace has no load to set"):
        calibrate.calibrate(traced, "hpcc")
    fixed = {"kind": "fixed", "size": "400KB"}
    short = {"name": "a", "load": 0.3, "flowsizes": fixed}
    with pytest.raises(fctlab.SpecError, match="nothing to fit: no sizes up to a BDP"):
        calibrate.calibrate({**SPEC, "classes": [short]}, "hpcc", loads=(0.3,), flows=100)
    wrong = ["calibrate", "scenarios/slo-two-classes.toml", "--scheme", "hpcc", "--loads", "1.5"]
    refused = CliRunner().invoke(app, wrong)
    assert isinstance(refused.exception, fctlab.SpecError | SystemExit)
