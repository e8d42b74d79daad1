"""Fit the link model to packet-level runs of a congestion control (swp, section 5.1, table 2).

The paper sets the model's parameters by hand for ns-3's DCTCP and HPCC (table 2). Here the
packet engine runs a congestion control over one link, the model sees the same flows, and the
parameters are those with which p99 slowdowns of short flows and mean slowdowns of long ones
come out the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fctlab import choices, memory
from fctlab.errors import SpecError
from fctlab.jobs import Job, Told, do_all
from fctlab.slo import planning
from fctlab.slo.fitted import Calibration, LongMean, Misfit, SizeBin

if TYPE_CHECKING:
    from numpy.typing import NDArray

BINS = 10
LONG_BYTES = 1_000_000
ENOUGH = 100
"""Long flows behind a mean that counts."""
MORE = 10
"""A class of short flows has up to so many times as many as the one of the longest."""
ROUNDS = 120
"""Evaluations of a fit."""

PARAMETERS = {
    "rate": ("eta", "thresh", "u_target", "beta"),
    "dctcp": ("gain", "thresh"),
    "hpcc": ("eta", "thresh", "u_target"),
}
"""What is fitted, by law."""
LOGARITHMIC = ("eta", "gain")
STEPS = {"eta": 0.7, "gain": 0.7, "thresh": 1.0, "u_target": -0.05, "beta": 0.5}
"""Of the first simplex; T in BDPs."""
BOUNDS = {
    "eta": (0.02, 50.0),
    "gain": (0.001, 1.0),
    "thresh": (0.0, 100.0),
    "u_target": (0.5, 1.0),
    "beta": (0.0, 3.0),
}


@dataclass(frozen=True)
class Sample:
    """The flows of one class at one load, and their slowdowns at packet level."""

    name: str
    spec: Mapping[str, Any]
    """Of the model, without congestion control."""
    bdp: float
    """Bytes."""
    flows: int
    """About so many were asked for."""
    sizes: NDArray[np.float64]
    slowdowns: NDArray[np.float64]

    def model(self, control: Mapping[str, Any]) -> NDArray[np.float64]:
        """Slowdowns of the same flows in the model."""
        found = planning.flows({**self.spec, "cc": control}, self.flows)
        return found["slowdown"].to_numpy()


def calibrate(
    spec: planning.Spec,
    scheme: str,
    *,
    preset: str | None = None,
    loads: Sequence[float] = (0.3, 0.6),
    flows: int = 20_000,
    executor: Executor | None = None,
    tell: Callable[[str], object] = lambda _: None,
) -> Calibration:
    """Fit the model's parameters to a congestion control at packet level.

    What `PARAMETERS` has for the preset's law is fitted, from the preset's values on; all else,
    headers among it, are its facts.

    Args:
        spec: network and classes; each class is run alone at each load.
        scheme: one of `planning.schemes`.
        preset: where the fit starts, and where the facts come from; ``"swp-d"`` and ``"swp-h"``
            are the paper's own form of the model, without any. Default: the preset of the
            scheme's name.
        loads: payload offered as shares of the link.
        flows: of each run of the class with the longest; others have up to `MORE` times as
            many. Another seed's are held out.
        executor: makes the runs of packets instead of threads of this process.
        tell: is told what is being done.

    Raises:
        SpecError: a mistake in the specification, or an unknown scheme or preset.
    """
    published = planning.schemes()
    choices.check("scheme", scheme, published, "a scheme that has a model")
    loaded = planning.load(spec, [f'cc="{preset or scheme}"'])
    means = {each["name"]: _mean_bytes(each) for each in loaded["classes"]}
    counts = {k: int(flows * min(MORE, max(means.values()) / v)) for k, v in means.items()}
    drawn = 2 * len(loads) * sum(counts.values())
    memory.check("flows", drawn, "flows of all runs", memory.BYTES_PER_FLOW)
    jobs = [
        Job(
            f"packet engine: {name} at load {load:g}, seed {seed}",
            sampled,
            {"spec": loaded, "of": name, "load": load, "seed": seed, "flows": n, "scheme": scheme},
        )
        for seed in (loaded["seed"], loaded["seed"] + 1)
        for name, n in counts.items()
        for load in loads
    ]
    found = do_all(jobs, executor=executor, started=lambda job: tell(job.name))
    half = len(jobs) // 2
    samples = (found[:half], found[half:])
    tell(f"model: at most {ROUNDS} sets of parameters")
    fitted = _fit(samples[0], loaded["cc"])
    return Calibration(
        scheme=scheme,
        preset=published[scheme],
        cc=fitted,
        errors=tuple(
            _misfit(sample, held_out, fitted, published[scheme])
            for held_out, group in zip((False, True), samples, strict=True)
            for sample in group
        ),
    )


def _mean_bytes(traffic: Mapping[str, Any]) -> float:
    if "flowsizes" not in traffic:
        path = f"classes.{traffic['name']}.flowsizes"
        raise SpecError(path, "is missing; a trace has no load to set")
    return planning.mean_bytes(traffic["flowsizes"])


def _fit(samples: Sequence[Sample], facts: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with the least loss: its mean over samples and half of the largest."""
    from scipy import optimize

    bdp = samples[0].bdp

    def loss(point: NDArray[np.float64]) -> float:
        control = _control(point, bdp, facts)
        losses = [_loss(sample, control) for sample in samples]
        return float(np.mean(losses) + max(losses) / 2)

    names = PARAMETERS[facts["law"]]
    thresh = planning.thresh_bytes({**samples[0].spec, "cc": dict(facts)})
    values = {**facts, "thresh": thresh / bdp}
    start = np.array([math.log(values[k]) if k in LOGARITHMIC else values[k] for k in names])
    steps = np.array([STEPS[k] for k in names])
    simplex = np.vstack([start, *(start + np.diag(steps))])
    found = optimize.minimize(
        loss,
        start,
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "maxfev": ROUNDS, "xatol": 0.01, "fatol": 0.0005},
    )
    return _control(found.x, bdp, facts)


def sampled(given: Mapping[str, Any], told: Told) -> Sample:
    """Draws the flows of a class and runs them at packet level.

    Args:
        given: ``spec``, resolved; the class ``of`` it; ``load``, ``seed``, ``flows``, ``scheme``.
        told: how far it has come.
    """
    loaded, name, load, flows = (given[key] for key in ("spec", "of", "load", "flows"))
    chosen = next(c for c in loaded["classes"] if c["name"] == name)
    kept = {key: chosen[key] for key in ("name", "flowsizes", "interarrivals") if key in chosen}
    if "interarrivals" in kept:
        kept["interarrivals"] = {k: v for k, v in kept["interarrivals"].items() if k != "mu"}
    network = {**loaded["network"], "fct_ends": "ack"}
    spec = planning.load(
        {
            "seed": given["seed"],
            "network": network,
            "queue": "fifo",
            "classes": [{**kept, "load": load}],
        }
    )
    drawn = planning.flows(spec, flows)
    run, _ = planning.replay(spec, drawn, scheme=given["scheme"], told=told)
    sizes = drawn["size_bytes"].to_numpy().astype(float)
    slowdowns = run["slowdown"].to_numpy()
    bdp = planning.bdp_bytes(spec)
    return Sample(f"{name}, load {load:g}", spec, bdp, flows, sizes, slowdowns)


def _control(point: NDArray[np.float64], bdp: float, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters from a point of the search, inside their bounds."""
    kept = {}
    for name, value in zip(PARAMETERS[facts["law"]], point, strict=True):
        number = math.exp(min(value, 50.0)) if name in LOGARITHMIC else float(value)
        kept[name] = round(float(np.clip(number, *BOUNDS[name])), 4)
    return {**facts, **kept, "thresh": f"{math.floor(bdp * kept['thresh'] + 0.5)}B"}


def _bins(sizes: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Size ranges (from, to] that hold as equal numbers of flows as ties allow."""
    shares = np.linspace(0, 1, BINS + 1)[1:]
    largest = np.unique(np.quantile(sizes, shares, method="inverted_cdf"))
    return list(zip([0.0, *map(float, largest)], map(float, largest), strict=False))


def _p99(slowdowns: NDArray[np.float64]) -> float:
    return float(np.quantile(slowdowns, 0.99, method="inverted_cdf"))


def _loss(sample: Sample, control: Mapping[str, Any]) -> float:
    """Mean of |log(model / packet)| of the bins' p99 up to a BDP and, thrice, of the long mean."""
    model = sample.model(control)
    parts = []
    for low, high in _bins(sample.sizes):
        inside = (sample.sizes > low) & (sample.sizes <= high)
        if high <= sample.bdp:
            parts.append(abs(math.log(_p99(model[inside]) / _p99(sample.slowdowns[inside]))))
    long = sample.sizes > LONG_BYTES
    if long.sum() >= ENOUGH:
        parts += 3 * [abs(math.log(model[long].mean() / sample.slowdowns[long].mean()))]
    if not parts:
        raise SpecError(
            "classes",
            f"nothing to fit: no sizes up to a BDP ({sample.bdp:.0f} B) and fewer than {ENOUGH} "
            f"flows above {LONG_BYTES / 1e6:g} MB",
        )
    return float(np.mean(parts))


def _misfit(sample: Sample, held_out: bool, fitted: Mapping[str, Any], preset: str) -> Misfit:
    of_fitted, of_preset = sample.model(fitted), sample.model({"preset": preset})
    long = sample.sizes > LONG_BYTES

    def mean(slowdowns: NDArray[np.float64]) -> float | None:
        return float(slowdowns[long].mean()) if long.any() else None

    bins = []
    for low, high in _bins(sample.sizes):
        inside = (sample.sizes > low) & (sample.sizes <= high)
        bins.append(
            SizeBin(
                from_bytes=low,
                to_bytes=high,
                up_to_bdp=high <= sample.bdp,
                p99=_p99(sample.slowdowns[inside]),
                fitted=_p99(of_fitted[inside]),
                preset=_p99(of_preset[inside]),
            )
        )
    return Misfit(
        sample=sample.name,
        held_out=held_out,
        flows=len(sample.sizes),
        bins=tuple(bins),
        long_mean=LongMean(
            packet=mean(sample.slowdowns), fitted=mean(of_fitted), preset=mean(of_preset)
        ),
    )


BY = "by fctlab calibrate."


def is_calibrated(content: bytes) -> bool:
    """Whether a file holds what `as_toml` gave."""
    return BY.encode() in content.partition(b"\n")[0]


def as_toml(found: Calibration) -> str:
    """The parameters as a line of a specification."""
    values = ", ".join(f"{key} = {json.dumps(value)}" for key, value in found.cc.items())
    comment = f"# Fitted to {found.scheme} of the packet engine {BY}"
    return f"{comment}\ncc = {{ {values} }}\n"
