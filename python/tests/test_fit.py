"""A log becomes a specification: sizes and arrivals are fitted, and judged by their tail."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

from fctlab.cli.app import app
from fctlab.slo import fit, fitspec, planning
from tests.conftest import EVERYTHING


def log(folder: Path, sigma: float, name: str = "log.csv", n: int = 20_000) -> Path:
    """A log of log-normal gaps of 10 us on average and sizes of 1 KB or 1 MB."""
    rng = np.random.default_rng(1)
    gaps = rng.lognormal(np.log(1e-5) - sigma**2 / 2, sigma, n)
    sizes = np.where(rng.random(n) < 0.9, 1_000, 1_000_000)
    table = pl.DataFrame({"start": np.cumsum(gaps), "size": sizes, "class": ["web"] * n})
    file = folder / name
    writers: dict[str, Callable[[Path], Any]] = {
        ".csv": table.write_csv,
        ".parquet": table.write_parquet,
        ".jsonl": table.write_ndjson,
    }
    writers[file.suffix](file)
    return file


@pytest.mark.parametrize("name", ["log.csv", "log.parquet", "log.jsonl"])
def test_fit_finds_the_process(tmp_path: Path, name: str) -> None:
    found = fit.fit(log(tmp_path, 1.5, name)).classes[0]
    gaps = found.interarrivals
    # Standard errors: sigma 1.5 / sqrt(2 n) = 0.0075, mu 1.5 / sqrt(n) = 0.011; five of each.
    assert gaps.family == "lognormal"
    assert gaps.sigma == pytest.approx(1.5, abs=0.04)
    assert gaps.mu == pytest.approx(np.log(1e4) - 1.125, abs=0.055)
    assert gaps.ks < 0.02
    assert found.holds and not found.warnings
    (small, share), large = found.sizes.points
    assert (small, large) == (1000.0, (1e6, 1.0)) and share == pytest.approx(0.9, abs=0.01)


def test_what_fit_saves_is_a_specification(tmp_path: Path) -> None:
    found = fit.fit(log(tmp_path, 1.5))
    assert fitspec.save(found, tmp_path / "out") == ["specification.toml", "sizes-web.csv"]
    link = fitspec.Link("200Gbps", "10us")
    fitspec.save(found, tmp_path / "out", link=link)
    resolved = planning.load(tmp_path / "out" / "specification.toml")
    assert resolved["classes"][0]["interarrivals"]["sigma"] == pytest.approx(1.5, abs=0.04)
    done = CliRunner().invoke(app, ["fit", str(tmp_path / "log.csv"), "--json"])
    shown = json.loads(done.stdout)
    assert shown["classes"][0]["flows"] == 20_000


def test_fit_warns_where_the_family_misleads(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    # On and off: bursts of 100 flows, 1 us apart, every 10 ms. Gaps are not independent.
    start = np.concatenate([i * 1e-2 + np.cumsum(rng.exponential(1e-6, 100)) for i in range(200)])
    table = pl.DataFrame({"start_s": start, "size_bytes": np.full(len(start), 1000)})
    table.write_csv(tmp_path / "onoff.csv")
    found = fit.fit(tmp_path / "onoff.csv").classes[0]
    assert not found.holds
    assert any("not independent" in w and "replay" in w for w in found.warnings)
    out = tmp_path / "out"
    files = fitspec.save(fit.fit(tmp_path / "onoff.csv"), out)
    assert "flows-all.csv" in files and "flows-all.csv" in (out / files[0]).read_text()
    replay = {"name": "all", "trace": str(out / "flows-all.csv")}
    network = {"link": "10Gbps", "rtt": "10us"}
    drawn = planning.flows({"network": network, "queue": "fifo", "classes": [replay]}, len(start))
    assert drawn["start_s"].to_numpy() == pytest.approx(start - start[0], abs=1e-11)
    poisson = np.cumsum(rng.exponential(1e-5, 20_000))
    pl.DataFrame({"start_s": poisson, "size_bytes": np.full(20_000, 1000)}).write_csv(
        tmp_path / "poisson.csv"
    )
    found = fit.fit(tmp_path / "poisson.csv").classes[0]
    assert found.interarrivals.family == "poisson" and found.holds


def test_a_log_of_even_gaps_is_a_specification(tmp_path: Path) -> None:
    table = pl.DataFrame({"start_s": np.arange(300) * 1e-5, "size_bytes": np.full(300, 1000)})
    table.write_csv(tmp_path / "even.csv")
    fitspec.save(
        fit.fit(tmp_path / "even.csv"), tmp_path / "out", link=fitspec.Link("10Gbps", "10us")
    )
    spec = planning.load(tmp_path / "out" / "specification.toml")
    assert planning.predict(spec, most_flows=1000).flows <= 1000


def test_fit_is_judged_by_the_tail(tmp_path: Path) -> None:
    # 10% of gaps have a mean of 82 us, the others of 2 us: near a log-normal one by distance, and
    # far by what flows wait.
    rng = np.random.default_rng(1)
    n = 100_000
    means = np.where(rng.random(n) < 0.1, 82e-6, 2e-6)
    sizes = np.where(rng.random(n) < 0.9, 1_000, 1_000_000)
    table = pl.DataFrame({"start_s": np.cumsum(rng.exponential(means)), "size_bytes": sizes})
    table.write_csv(tmp_path / "log.csv")
    fitted = fit.fit(tmp_path / "log.csv")
    found = fitted.classes[0]
    tail = found.tail
    assert found.interarrivals.ks < 0.1
    assert not found.holds and tail.log > tail.drawn[2], tail
    assert any("p99 slowdown" in warning for warning in found.warnings)
    fitspec.save(fitted, tmp_path / "out")
    assert '"measured"' in (tmp_path / "out" / "specification.toml").read_text()


def test_fit_raises_few_false_alarms(tmp_path: Path) -> None:
    # The nominal level is 2 in 40; with a chance of one in a thousand there are more.
    logs = 50 if EVERYTHING else 10
    most = binom.ppf(0.999, logs, 2 / 40)
    alarms = 0
    for seed in range(logs):
        rng = np.random.default_rng(100 + seed)
        start = np.cumsum(rng.lognormal(0.0, 3.0, 1_000)) * 1e-6
        sizes = np.where(rng.random(1_000) < 0.9, 1_000, 1_000_000)
        table = pl.DataFrame({"start_s": start, "size_bytes": sizes})
        table.write_parquet(tmp_path / "log.parquet")
        alarms += not fit.fit(tmp_path / "log.parquet").classes[0].holds
    assert alarms <= most, alarms


def test_a_class_may_have_any_name(tmp_path: Path) -> None:
    file = log(tmp_path, 1.5, n=2000)
    table = pl.read_csv(file).with_columns(pl.lit('../a "quoted" one').alias("class"))
    table.write_csv(file)
    link = fitspec.Link("200Gbps", "10us")
    names = fitspec.save(fit.fit(file), tmp_path / "out", link=link)
    assert names == ["specification.toml", "sizes-class-0.csv"]
    assert planning.load(tmp_path / "out" / names[0])["classes"][0]["name"] == "class-0"
