"""Figures of what is saved: against load, for a paper, with intervals, drawn again."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.collections import LineCollection, PolyCollection

import fctlab
from fctlab.results import drawing, figures, kinds, plots
from fctlab.results.drawing import COLUMN_INCHES, Drawing
from tests.conftest import SMALL, Program
from tests.test_plots import flows

LOADS = (0.3, 0.5, 0.7)
SCHEMES = ("dctcp", "pfabric")

pytestmark = pytest.mark.usefixtures("with_figures")


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two schemes, three loads, three seeds."""
    out = tmp_path_factory.mktemp("figures") / "field"
    fctlab.compare(SMALL, SCHEMES, loads=LOADS, seeds=3, out=out)
    return out


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One load, one seed."""
    out = tmp_path_factory.mktemp("figures") / "alone"
    fctlab.compare(SMALL, SCHEMES, out=out)
    return out


def test_a_comparison_over_loads_saves_its_figure(field: Path, alone: Path) -> None:
    names = {kinds.SLOWDOWN_BY_LOAD, kinds.FCT_BY_LOAD}
    assert {n for n in names if (field / f"{n}.png").stat().st_size > 10_000} == names
    assert not any((alone / f"{name}.png").exists() for name in names)


@pytest.mark.parametrize("metric", ["slowdown", "fct_s"])
def test_against_load_it_draws_the_summary_with_its_intervals(field: Path, metric: str) -> None:
    found = fctlab.load(field)
    assert isinstance(found, fctlab.Comparison)
    figure = found.plot_by_load(metric, sizes=("all", "small", "medium", "large"))
    assert len(figure.axes) == 3 * 2, "there are no large flows"
    rows = iter(figure.axes)
    for size in ("all", "small", "medium"):
        for statistic in ("avg", "p99"):
            ax, name = next(rows), f"{statistic}_{metric}"
            bars = [c for c in ax.collections if isinstance(c, LineCollection)]
            lines, labels = ax.get_legend_handles_labels()
            assert labels == list(SCHEMES) and len(bars) == len(SCHEMES)
            for line, bar, scheme in zip(lines, bars, SCHEMES, strict=True):
                told = found.summary.filter(
                    pl.col("scheme") == scheme, pl.col("class") == size
                ).sort("load")
                y, half = told[name].to_numpy(), told[f"{name}_ci95"].to_numpy()
                assert np.asarray(line.get_ydata()) == pytest.approx(y)  # type: ignore[attr-defined]
                x = np.asarray(line.get_xdata())  # type: ignore[attr-defined]
                assert x == pytest.approx(LOADS, abs=0.02)
                tops = [segment[:, 1].max() for segment in bar.get_segments()]
                assert tops == pytest.approx(y + half)
    first, second, third, *_ = figure.axes
    assert first.get_ylim() == second.get_ylim() and first.get_xlim() == third.get_xlim()


def test_it_says_how_many_flows_and_seeds_it_is_of(field: Path, alone: Path) -> None:
    found = fctlab.load(field)
    assert isinstance(found, fctlab.Comparison)
    caption = found.plot_by_load().caption
    assert "3 seeds" in caption and "95% t intervals" in caption and "900" in caption
    assert "no intervals" in fctlab.load(alone).plot_slowdown().caption
    assert "no intervals" in fctlab.run(SMALL).plot_fct_cdf().caption


def test_distributions_and_slowdowns_have_intervals_over_seeds() -> None:
    seeds = [flows([1] * 100, [1.0] * k + [5.0] * (100 - k)) for k in (50, 60, 70)]
    curve = [plots.Curve("x", None, seeds)]
    cdf, sizes = plots.fct_cdf(curve, ""), plots.slowdown_by_size(curve, "")
    bands = [c for c in cdf.axes[0].collections if isinstance(c, PolyCollection)]
    assert len(bands) == 1
    # Shares have a mean of 0.6 and a deviation of 0.1; t(0.975, 2) is 4.303.
    half = 4.302653 * 0.1 / 3**0.5
    shares = set(np.round(np.asarray(bands[0].get_paths()[0].vertices)[:, 1], 6))
    assert {round(0.6 - half, 6), round(0.6 + half, 6)} <= shares
    (bar,) = (c for c in sizes.axes[0].collections if isinstance(c, LineCollection))
    ends = bar.get_segments()[0][:, 1]
    assert ends.max() == pytest.approx(2.6 + 4 * half, rel=1e-5)


def test_hollow_points_are_lower_bounds_without_intervals() -> None:
    cut = pl.concat([flows([1], [1.0]), flows([1], [9.0], finished=False)])
    figure = plots.slowdown_by_size([plots.Curve("x", None, [cut, cut])], "")
    assert not any(isinstance(c, LineCollection) for c in figure.axes[0].collections)
    assert "white" in [line.get_markerfacecolor() for line in figure.axes[0].lines]


def test_figures_are_what_a_paper_takes(program: Program, field: Path, tmp_path: Path) -> None:
    done = program("plot", field, "--out", "paper")
    assert done.returncode == 0, done.stderr
    names = (kinds.FCT_CDF, kinds.SLOWDOWN, kinds.SLOWDOWN_BY_LOAD, kinds.FCT_BY_LOAD)
    made = {file.name for file in (tmp_path / "paper").iterdir()}
    assert made == {f"{name}.{kind}" for name in names for kind in ("png", "pdf", "svg")}
    for name in names:
        assert f"paper/{name}.png, {name}.pdf, {name}.svg: " in done.stderr
        pdf = (tmp_path / "paper" / f"{name}.pdf").read_bytes()
        assert b"/FontFile2" in pdf and b"/Type3" not in pdf, "fonts are TrueType: Type 42"
        box = re.search(rb"/MediaBox \[ ?0 0 ([0-9.]+)", pdf)
        assert box and float(box[1]) == pytest.approx(72 * COLUMN_INCHES, abs=0.1)
        svg = (tmp_path / "paper" / f"{name}.svg").read_text()
        assert "<text" not in svg, "letters are outlines"


def test_the_environment_leaves_figures_out(
    program: Program, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kinds.DRAWN, "no")
    done = program("run", small, "--out", "out")
    assert "saved in out: flows.parquet, summary.csv, ..." in done.stderr + done.stdout
    assert not list((tmp_path / "out").glob("*.png"))
    assert program("plot", "out", "--formats", "png").returncode == 0
    assert kinds.drawn(tmp_path / "out") == ["fct_cdf.png", "slowdown_by_size.png"]
    monkeypatch.setenv(kinds.DRAWN, "never")
    says = "error: FCTLAB_FIGURES: 'never' is not an answer; known: yes, no"
    assert says in program("run", small, "--out", "other").stderr
    assert not (tmp_path / "other").exists()


def test_drawn_again_it_is_the_same_to_the_byte(
    program: Program, field: Path, tmp_path: Path
) -> None:
    for out in ("one", "two"):
        given = ("--only", "slowdown_by_load", "--out", out)
        assert program("plot", field, *given).returncode == 0
    files = sorted((tmp_path / "one").iterdir())
    assert len(files) == 3
    for file in files:
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    saved = (field / "slowdown_by_load.png").read_bytes()
    assert saved == (tmp_path / "one" / "slowdown_by_load.png").read_bytes()


def test_a_run_is_drawn_again(program: Program, small: Path, tmp_path: Path) -> None:
    assert program("run", small, "--out", "out").returncode == 0
    assert program("plot", "out", "--formats", "pdf").returncode == 0
    assert (tmp_path / "out" / "fct_cdf.pdf").is_file()
    # They belong to the result: the next one replaces them.
    assert program("run", small, "--out", "out").returncode == 0
    assert not (tmp_path / "out" / "fct_cdf.pdf").exists()


def test_a_scheme_looks_the_same_in_every_figure(field: Path) -> None:
    found = fctlab.load(field)
    assert isinstance(found, fctlab.Comparison)
    looks = []
    for draw in figures.of_comparison(found).values():
        figure = draw()
        looks += [
            [(line.get_color(), line.get_linestyle()) for line in ax.get_legend_handles_labels()[0]]  # type: ignore[attr-defined]
            for ax in figure.axes
            if ax.lines
        ]
    assert all(look == looks[0] for look in looks) and len(set(looks[0])) == len(SCHEMES)


def test_nothing_is_drawn_over_the_legend_or_outside(field: Path, tmp_path: Path) -> None:
    cut = SMALL | {"measure": {"max_time": "1ms"}}
    fctlab.compare(cut, ["dctcp", "tcp", "pfabric"], seeds=3, out=tmp_path / "cut")
    both = (figures.saved(place).values() for place in (field, tmp_path / "cut"))
    for draw in chain.from_iterable(both):
        figure = draw()
        assert isinstance(figure, Drawing)
        figure.draw_without_rendering()
        boxes = [ax.get_tightbbox() for ax in figure.axes]
        legend = figure.legends[0].get_window_extent()
        (caption,) = figure.texts
        caption_box = caption.get_window_extent()
        for box in boxes:
            assert box is not None
            assert box.y1 <= legend.y0 + 1 and box.y0 >= caption_box.y1 - 1
            assert box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1
        assert caption_box.x1 <= figure.bbox.x1 and caption_box.y0 >= 0


WRONG = {
    "no result": (("plot", "."), ".: holds no result"),
    "an unknown figure": (
        ("plot", "{field}", "--only", "pie"),
        "'pie' is not a figure of it; known: fct_cdf, ",
    ),
    "an unknown format": (
        ("plot", "{field}", "--formats", "gif"),
        "--formats: 'gif' is not a format; known: png, pdf, svg",
    ),
    "an unknown size": (
        ("plot", "{field}", "--sizes", "huge"),
        "--sizes: 'huge' is not a size class; known: all, small, medium, large",
    ),
    "an unknown class": (
        ("plot", "{field}", "--class", "x"),
        "--class: 'x' is not a traffic class of it; known: all",
    ),
    "one load": (
        ("plot", "{alone}", "--only", "slowdown_by_load"),
        "there is only 0.5; figures against load need two or more",
    ),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_plot_refuses(
    program: Program, field: Path, alone: Path, tmp_path: Path, name: str
) -> None:
    arguments, message = WRONG[name]
    done = program(*(a.format(field=field, alone=alone) for a in arguments), "--out", "out")
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "out").exists()


def test_somebody_elses_file_stays(program: Program, field: Path, tmp_path: Path) -> None:
    (tmp_path / "fct_cdf.pdf").write_text("mine")
    done = program("plot", field, "--out", ".")
    assert done.returncode == 2 and "fct_cdf.pdf: is there" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["fct_cdf.pdf"]
    assert program("plot", field, "--only", "fct_cdf", "--out", ".", "--force").returncode == 0


def test_loads_may_be_a_range(program: Program, small: Path) -> None:
    ranged = ("compare", small, "--schemes", "dctcp", "--loads", "0.3:0.6:4", "--json")
    done = program(*ranged)
    assert re.findall(r'"load": ([0-9.]+),\n +"seed"', done.stdout) == ["0.3", "0.4", "0.5", "0.6"]
    for wrong in ("0.3:0.6", "0.3:0.6:1", "a:b:3", "0.3:0.6:x"):
        done = program("compare", small, "--schemes", "dctcp", "--loads", wrong)
        assert done.returncode == 2 and "no FROM:TO:COUNT" in done.stderr


def test_many_schemes_look_different_and_many_loads_have_room() -> None:
    looks = {tuple(sorted(drawing.points(number).items())) for number in range(28)}
    assert len(looks) == 28
    eight = [drawing.points(number) for number in (0, 7)]
    assert eight[0]["color"] == eight[1]["color"] and eight[0]["marker"] != eight[1]["marker"]
    loads = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    found = fctlab.compare(SMALL, ["dctcp"], loads=loads).plot_by_load()
    assert list(found.axes[-1].get_xticks()) == loads[::2]
