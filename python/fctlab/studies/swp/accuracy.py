"""Figures 6 and 7: the functional link model beside the packet engine, on the same flows.

100 Gbps, RTT 10 us, log-normal gaps with sigma 2, as in section 5.1. The paper's packet engine is
ns-3 with the HPCC simulator's DCTCP and HPCC; here it is ours. The paper's law with its parameters
(table 2), read in two ways, and the laws with windows, in which nothing is fitted, stand side by
side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fctlab.jobs import Told, deaf
from fctlab.slo import planning
from fctlab.studies.framework.asked import asked, of_each
from fctlab.studies.framework.lab import Stated, claim
from fctlab.studies.framework.pictures import INK
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Figure, Mode, Part, Table
from fctlab.studies.framework.verdict import Band, Within
from fctlab.studies.swp import compared
from fctlab.studies.swp.compared import BDP_BYTES, Compared, compare
from fctlab.studies.swp.readings import IDEAL, STARTS, Lab, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

LOADS = (0.3, 0.6)
SEEDS: dict[Mode, int] = {"quick": 3, "full": 5}
MEAN, MOST = 0.10, 0.25
"""How far off p99s may be, on average over size bins and in the worst one, to be
called accurate; the paper has no figure."""
LONG = 0.10
"""The same for the mean slowdown of long flows, as a share."""
SCHEMES = dict(zip(("DCTCP", "HPCC"), planning.schemes().items(), strict=True))
"""Of the packet engine: the preset that has the windows of each, called like it, and table 2's."""

FROM_R = "table 2, from R(t)"
PUBLISHED = dict(zip(("table 2", FROM_R), STARTS, strict=True))
"""Sets with table 2's parameters: in the text's reading, and where flows go on at R(t)."""


@dataclass(frozen=True)
class Traffic:
    """One class."""

    name: str
    flowsizes: str
    weight: int = 1


@dataclass(frozen=True, eq=False)
class Mix:
    """Classes that share the link, each with the same share of the load."""

    name: str
    classes: tuple[Traffic, ...]
    flows: Mapping[Mode, int]
    """Of a run, all classes."""


ALONE = (
    Mix(
        "WebSearch",
        (Traffic("WebSearch", "websearch_bytes"),),
        {"quick": 12_000, "full": 50_000},
    ),
    Mix("Google", (Traffic("Google", "google_rpc"),), {"quick": 200_000, "full": 2_000_000}),
)
WEIGHTED = (
    Mix(
        "two classes",
        (
            Traffic("WebSearch", "websearch_bytes", 1),
            Traffic("Facebook", "facebook_hadoop_bytes", 2),
        ),
        {"quick": 25_000, "full": 400_000},
    ),
    Mix(
        "five classes",
        (
            Traffic("Google", "google_rpc", 5),
            Traffic("Alibaba", "alibaba_storage", 4),
            Traffic("Facebook", "facebook_hadoop_bytes", 3),
            Traffic("WebSearch", "websearch_bytes", 2),
            Traffic("Facebook-light", "facebook_hadoop_bytes", 1),
        ),
        {"quick": 150_000, "full": 2_000_000},
    ),
)


def specification(
    mix: Mix,
    load: float,
    seed: int,
    control: str | dict[str, str],
    settings: Settings | None = None,
) -> dict[str, Any]:
    """A mix at a load: one queue for a single class, else WFQ; as the text has it unless given."""
    rows = [
        {
            "name": each.name,
            "flowsizes": each.flowsizes,
            "interarrivals": {"kind": "lognormal", "sigma": 2.0},
            "load": load / len(mix.classes),
            "weight": each.weight,
        }
        for each in mix.classes
    ]
    return planning.load(
        {
            "network": (settings or Settings()).network(),
            "seed": seed,
            "queue": "fifo" if len(rows) == 1 else "wfq",
            "cc": control,
            "classes": rows,
        }
    )


def measured(lab: Lab, mix: Mix, load: float, scheme: str, seed: int) -> dict[str, Compared]:
    """Every class of a mix packet by packet and in the model, by set of parameters."""
    own, published = SCHEMES[scheme]
    others = {
        name: specification(mix, load, seed, lab.read(reading).settings.cc(published), lab.settings)
        for name, reading in PUBLISHED.items()
    }
    flows = mix.flows[lab.mode] * lab.settings.length
    found = _compared(specification(mix, load, seed, own, lab.settings), others, flows)
    return {name: Compared.read(record) for name, record in found.items()}


@asked("packets beside the model")
def _compared(
    spec: dict[str, Any], others: dict[str, dict[str, Any]], flows: int, told: Told = deaf
) -> dict[str, dict[str, Any]]:
    """By class, what `Compared` has: packets, the model's windows, and other specifications."""
    drawn = planning.flows(spec, flows)
    run, _ = planning.replay(spec, drawn, told=told)
    slowdowns = {"packet": run["slowdown"].to_numpy(), "windows": drawn["slowdown"].to_numpy()}
    for which, other in others.items():
        slowdowns[which] = planning.flows(other, flows)["slowdown"].to_numpy()
    names = drawn["traffic_class"].to_numpy()
    sizes = drawn["size_bytes"].to_numpy().astype(float)
    found = {}
    for each in spec["classes"]:
        of = names == each["name"]
        own = compare(sizes[of], {k: v[of] for k, v in slowdowns.items()})
        found[each["name"]] = own.record()
    return found


def settings(mixes: Sequence[Mix]) -> Iterator[tuple[Mix, float, str]]:
    """Every mix at each load under each congestion control."""
    for scheme in SCHEMES:
        for mix in mixes:
            for load in LOADS:
                yield mix, load, scheme


def off(lab: Lab, mix: Mix, load: float, scheme: str, which: str, seed: int) -> NDArray[np.float64]:
    """Sizes of the errors of all bins of all classes; NaN without any."""
    found = measured(lab, mix, load, scheme, seed).values()
    errors = np.abs(np.concatenate([each.errors(which) for each in found]))
    return errors if len(errors) else np.array([math.nan])


def _read(lab: Lab) -> str:
    """The set with table 2's parameters as the lab reads them."""
    return next(name for name, reading in PUBLISHED.items() if reading is lab.reading)


def _over_seeds(lab: Lab, effect: Callable[[int], float]) -> Callable[[], list[float]]:
    return lambda: of_each(effect, lab.seeds(SEEDS))


def _tails(lab: Lab, mixes: Sequence[Mix], which: str) -> Iterator[Part]:
    """Errors of p99s."""

    def shown(
        mix: Mix, load: float, scheme: str, summary: Callable[..., float]
    ) -> Callable[[], list[float]]:
        def effect(seed: int) -> float:
            return float(summary(off(lab, mix, load, scheme, which, seed)))

        return _over_seeds(lab, effect)

    for mix, load, scheme in settings(mixes):
        title = _title(mix, load, scheme)
        for what, summary, most in (("mean", np.mean, MEAN), ("largest", np.max, MOST)):
            measure = shown(mix, load, scheme, summary)
            name = f"{title}, {what} error of p99"
            yield Part(
                name, f"<= {most:.0%}", Within(0, most), (), measure, percent=True, by_seed=True
            )


def _means(lab: Lab, mixes: Sequence[Mix], which: str) -> Iterator[Part]:
    """Mean slowdown of long flows, model over packet engine."""

    def ratio(mix: Mix, load: float, scheme: str, name: str) -> Callable[[], list[float]]:
        return _over_seeds(
            lab, lambda seed: measured(lab, mix, load, scheme, seed)[name].long_ratio(which)
        )

    for mix, load, scheme in settings(mixes):
        for each in mix.classes:
            of = f" of {each.name}" if len(mix.classes) > 1 else ""
            name = f"{_title(mix, load, scheme)}, long flows{of}: model over packet engine"
            measure = ratio(mix, load, scheme, each.name)
            yield Part(name, "0", Band.within(LONG), (), measure, percent=True, by_seed=True)


def _span(lab: Lab, mixes: Sequence[Mix], which: str, schemes: Sequence[str]) -> str:
    """The least and the largest mean error over settings and seeds."""
    errors = [
        float(off(lab, mix, load, scheme, which, seed).mean())
        for mix, load, scheme in settings(mixes)
        if scheme in schemes
        for seed in range(1, SEEDS[lab.mode] + 1)
    ]
    return f"{np.nanmin(errors):.1%} to {np.nanmax(errors):.1%}"


def _others_do(lab: Lab, _: Results) -> str:
    text, ideal, windows = (
        _span(lab, ALONE, which, list(SCHEMES)) for which in (*PUBLISHED, "windows")
    )
    return (
        f"Mean errors are {text} where a rate relaxes from r_init, {ideal} where flows go on at "
        f"R(t) (swp-6-ideal), {windows} with windows of their own (swp-6-windows)."
    )


def _why(lab: Lab, _: Results) -> str:
    return (
        f"Mean errors of p99: {_span(lab, WEIGHTED, 'windows', ['DCTCP'])} under DCTCP, "
        f"{_span(lab, WEIGHTED, 'windows', ['HPCC'])} under HPCC, whose switches report queue and "
        "rate of the whole port, as in its published simulator (preset hpcc: scope); "
        "equation 11 has those of the class. Means of long flows rest on few of them here."
    )


ACCURATE = f"accurate (here: {MEAN:.0%} on average over size bins, {MOST:.0%} at most)"
CLOSE = f"accurate (here: within {LONG:.0%})"
OWN = "windows of their own (presets dctcp-rate and hpcc; nothing is fitted)"


@claim(
    "swp-6",
    "Figure 6: SWP-D and SWP-H, parameters of table 2, predict the p99 slowdown of flows "
    "up to one BDP (125 KB) under DCTCP and HPCC",
    ACCURATE,
    why=_others_do,
)
def tails(lab: Lab) -> Iterator[Part]:
    """p99s by size."""
    return _tails(lab, ALONE, _read(lab))


@claim("swp-6-windows", f"... so does the model with {OWN}", ACCURATE, beyond=True)
def tails_with_windows(lab: Lab) -> Iterator[Part]:
    """p99s by size with windows."""
    return _tails(lab, ALONE, "windows")


@claim(
    "swp-7",
    "Figure 7: SWP-D and SWP-H predict the average slowdown of flows above 1 MB",
    CLOSE,
    why=lambda *_: "Where flows go on at R(t) stands in swp-7-ideal, windows in swp-7-windows.",
)
def means(lab: Lab) -> Iterator[Part]:
    """Means of long flows."""
    return _means(lab, ALONE, _read(lab))


@claim("swp-7-windows", f"... so does the model with {OWN}", CLOSE, beyond=True)
def means_with_windows(lab: Lab) -> Iterator[Part]:
    """Means of long flows with windows."""
    return _means(lab, ALONE, "windows")


@claim(
    "swp-x1",
    f"With weights: two and five classes under WFQ, {OWN}",
    f"not measured (the same bars: {MEAN:.0%}, {MOST:.0%}, {LONG:.0%})",
    why=_why,
    beyond=True,
)
def weights(lab: Lab) -> Iterator[Part]:
    """Both under WFQ."""
    yield from _tails(lab, WEIGHTED, "windows")
    yield from _means(lab, WEIGHTED, "windows")


def _from_r(stated: Stated[Lab]) -> Stated[Lab]:
    """A claim where flows go on at R(t), in short."""
    text = "SWP-D and SWP-H, parameters of table 2"
    return replace(stated, text=text, why=None).under(IDEAL)


CLAIMS = (
    tails,
    _from_r(tails),
    tails_with_windows,
    means,
    _from_r(means),
    means_with_windows,
    weights,
)


def tables(lab: Lab) -> list[Table]:
    """Errors by setting and class."""

    def rows(mixes: Sequence[Mix]) -> list[tuple[str, ...]]:
        found = []
        for mix, load, scheme in settings(mixes):
            seeds = range(1, SEEDS[lab.mode] + 1)
            runs = of_each(partial(measured, lab, mix, load, scheme), seeds)
            for one in mix.classes:
                over = [run[one.name] for run in runs]
                row = [scheme, one.name, f"{one.weight}", f"{load:.0%}"]
                for which in ("windows", *PUBLISHED):
                    errors = np.abs(np.concatenate([run.errors(which) for run in over]))
                    row.append(f"{errors.mean():.1%}, {errors.max():.1%}" if len(errors) else "-")
                ratios = {k: [o.long_ratio(k) - 1 for o in over] for k in ("windows", *PUBLISHED)}
                row += [f"{np.mean(values):+.1%}" for values in ratios.values()]
                found.append((*row, f"{np.mean([run.long for run in over]):,.0f}"))
        return found

    def table(name: str, title: str, mixes: Sequence[Mix], claims: tuple[str, ...]) -> Table:
        return Table(
            name,
            title,
            f"p99 slowdown of size bins up to 125 KB with {compared.LEAST:,} flows or more, mean "
            "over bins and seeds and largest error (-: no such bin); mean slowdown of flows "
            "above 1 MB, mean over seeds; how many of them in a run.",
            (),
            (
                "cc",
                "class",
                "weight",
                "load",
                "p99, windows",
                *(f"p99, {which}" for which in PUBLISHED),
                "long, windows",
                *(f"long, {which}" for which in PUBLISHED),
                "long flows",
            ),
            lambda _: rows(mixes),
            claims,
        )

    return [
        table(
            "accuracy",
            "Model against packet engine: one class",
            ALONE,
            ("swp-6", "swp-7", "swp-6-ideal", "swp-7-ideal"),
        ),
        table("accuracy-weights", "Model against packet engine: WFQ", WEIGHTED, ("swp-x1",)),
    ]


STYLES: dict[str, dict[str, Any]] = {
    "packet": {"color": INK, "marker": "o"},
    "windows": {"color": "tab:blue", "marker": "s"},
    "table 2": {"color": "tab:orange", "marker": "^"},
    FROM_R: {"color": "tab:green", "marker": "v"},
}
LABELS = {"packet": "packet engine", **{k: f"model, {k}" for k in ("windows", *PUBLISHED)}}


def figures(lab: Lab) -> list[Figure]:
    """Figures 6 and 7."""

    def panel(ax: Axes, mix: Mix, load: float, scheme: str) -> None:
        found = measured(lab, mix, load, scheme, 1)[mix.name]
        at = np.arange(len(found.largest))
        for which, style in STYLES.items():
            ax.plot(at, found.p99[which], label=LABELS[which], markersize=3.5, lw=1, **style)
        ax.axvline(float(np.interp(BDP_BYTES, found.largest, at)), color="grey", ls="--", lw=0.8)
        ax.set_xticks(at, [_size(size) for size in found.largest], rotation=60, fontsize=7)
        ax.set_yscale("log")
        ax.set_title(_title(mix, load, scheme), fontsize=9)
        ax.grid(axis="y", which="both", alpha=0.2)

    def figure_6(_: Results) -> Drawing:
        drawing = Drawing(figsize=(11, 5.5), layout="constrained")
        grid = drawing.subplots(2, 4)
        for ax, setting in zip(grid.flat, settings(ALONE), strict=True):
            panel(ax, *setting)
            ax.set_ylim(bottom=1)
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5)))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
            ax.yaxis.set_minor_formatter(NullFormatter())
        for axes in grid:
            axes[0].set_ylabel("p99 slowdown")
        drawing.supxlabel("largest size in the bin (bytes)", fontsize=9)
        grid[0, 0].legend(frameon=False, fontsize=8)
        return drawing

    def figure_7(_: Results) -> Drawing:
        drawing = Drawing(figsize=(8, 3), layout="constrained")
        for ax, scheme in zip(drawing.subplots(1, 2, sharey=True), SCHEMES, strict=True):
            chosen = [(mix, load) for mix, load, cc in settings(ALONE) if cc == scheme]
            at = np.arange(len(chosen))
            for k, (which, style) in enumerate(STYLES.items()):
                means = [
                    np.mean(
                        [
                            measured(lab, mix, load, scheme, seed)[mix.name].mean[which]
                            for seed in range(1, SEEDS[lab.mode] + 1)
                        ]
                    )
                    for mix, load in chosen
                ]
                ax.bar(at + 0.21 * (k - 1.5), means, 0.2, color=style["color"], label=LABELS[which])
            ax.set_xticks(at, [f"{mix.name}\n{load:.0%}" for mix, load in chosen], fontsize=8)
            ax.set_title(scheme, fontsize=9)
            ax.grid(axis="y", alpha=0.2)
        drawing.axes[0].set_ylabel("mean slowdown, above 1 MB")
        drawing.axes[0].legend(frameon=False, fontsize=8)
        return drawing

    return [
        Figure(
            "figure-6",
            "Figure 6: tail slowdown, model and packet engine",
            "p99 slowdown in ten size bins with as many flows each, seed 1; dashed, one BDP. The "
            "paper's curves lie on each other up to there. The y axes differ.",
            (),
            figure_6,
            ("swp-6", "swp-6-ideal"),
        ),
        Figure(
            "figure-7",
            "Figure 7: average slowdown of long flows",
            "Flows above 1 MB; mean over seeds.",
            (),
            figure_7,
            ("swp-7", "swp-7-ideal"),
        ),
    ]


def _title(mix: Mix, load: float, scheme: str) -> str:
    return f"{scheme}, {mix.name} {load:.0%}"


def _size(count: float) -> str:
    for unit, text in ((1e6, "M"), (1e3, "K")):
        if count >= unit:
            return f"{count / unit:.3g}{text}"
    return f"{count:g}"


def notes(mode: Mode) -> list[str]:
    """What the paper leaves open, and what this mode shrinks."""
    counts = ", ".join(f"{mix.name} {mix.flows[mode]:,}" for mix in (*ALONE, *WEIGHTED))
    return [
        f"Figures 6 and 7: flows per run: {counts}; {SEEDS[mode]} seeds. The paper's packet engine "
        "is ns-3 with the HPCC simulator's DCTCP and HPCC, which Debian does not package; here it "
        "is ours, with 128 senders. Size bins hold as many flows each as ties allow.",
        "The paper says accurate and gives no figure. Here: p99 slowdowns of size bins up to a BDP "
        f"are off by {MEAN:.0%} on average and by {MOST:.0%} at most, mean slowdowns of long flows "
        f"by {LONG:.0%}.",
    ]
