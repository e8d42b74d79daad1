"""Fit the functional link model to packet-level runs of a congestion control (swp, section 4.3).

The paper sets the model's parameters by hand for ns-3's DCTCP and HPCC (table 2). Here the
packet engine runs a congestion control over one link, the model sees the same flows, and the
parameters are those with which p99 slowdowns of short flows and mean slowdowns of long ones
come out the same.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fctlab import planning
from fctlab.errors import SpecError
from fctlab.result import run

if TYPE_CHECKING:
    from numpy.typing import NDArray

SENDERS = 128
"""The more, the less often two flows share a sender's link."""
BINS = 10
LONG_BYTES = 1_000_000
PRESETS = {"dctcp-rate": "swp-d", "hpcc": "swp-h"}
"""Schemes of the packet engine, and the parameters of table 2 that are meant for them."""
# As the HPCC simulator sends them, which swp uses.
PACKET = {"payload": "1000B", "header": "48B", "ack": "60B"}
ROUNDS = 160
"""Evaluations of a fit."""


@dataclass(frozen=True)
class Sample:
    """The flows of one class at one load, and their slowdowns at packet level."""

    name: str
    spec: Mapping[str, Any]
    """Of the model, without congestion control."""
    bdp: float
    """Bytes."""
    sizes: NDArray[np.float64]
    slowdowns: NDArray[np.float64]

    def model(self, control: Mapping[str, Any]) -> NDArray[np.float64]:
        """Slowdowns of the same flows in the model."""
        found = planning.flows({**self.spec, "cc": control}, len(self.sizes))
        slowdowns: NDArray[np.float64] = found["slowdown"].to_numpy()
        return slowdowns


def calibrate(
    spec: planning.Spec,
    scheme: str,
    *,
    loads: Sequence[float] = (0.3, 0.6),
    flows: int = 20_000,
    tell: Callable[[str], object] = lambda _: None,
) -> dict[str, Any]:
    """Fit the model's parameters to a congestion control at packet level.

    Args:
        spec: network and classes; each class is run alone at each load.
        scheme: a preset of the packet engine: one of `PRESETS`.
        loads: payload offered as shares of the link.
        flows: of each run; another seed's are held out.
        tell: is told what is being done.

    Returns:
        ``cc``: the parameters, as a specification takes them; ``scheme``, ``preset`` (table
        2's); ``errors``: ``{"class", "load", "held_out", "bins": [{"from_bytes", "to_bytes",
        "p99" (packet level), "fitted", "preset"}], "long_mean": {"packet", "fitted",
        "preset"}}``, slowdowns throughout, ``None`` where there are no flows.

    Raises:
        SpecError: a mistake in the specification, or an unknown scheme.
    """
    if scheme not in PRESETS:
        raise SpecError("scheme", f"{scheme!r} is not one of {', '.join(PRESETS)}")
    loaded = planning.load(spec)
    names = [each["name"] for each in loaded["classes"]]
    preset = PRESETS[scheme]
    with tempfile.TemporaryDirectory(prefix="fctlab-") as folder:
        samples: list[list[Sample]] = []
        for seed in (loaded["seed"], loaded["seed"] + 1):
            samples.append([])
            for name in names:
                for load in loads:
                    tell(f"packet engine: {name} at load {load:g}, seed {seed}")
                    trace = Path(folder) / f"{len(samples)}-{len(samples[-1])}.csv"
                    samples[-1].append(_sample(loaded, name, load, seed, flows, scheme, trace))
        tell(f"model: at most {ROUNDS} sets of parameters")
        fitted = _fit(samples[0])
        return {
            "scheme": scheme,
            "preset": preset,
            "cc": fitted,
            "errors": [
                _errors(sample, held_out, fitted, preset)
                for held_out, group in zip((False, True), samples, strict=True)
                for sample in group
            ],
        }


def _fit(samples: Sequence[Sample]) -> dict[str, Any]:
    """The parameters with the least mean loss."""
    from scipy import optimize

    bdp = samples[0].bdp

    def loss(point: NDArray[np.float64]) -> float:
        return float(np.mean([_loss(s, _control(point, bdp)) for s in samples]))

    # eta, T (in BDPs), U, beta, from the middle of what the paper has.
    start = np.array([math.log(2.0), math.log(1.0), 1.0, 0.3])
    steps = np.array([0.7, 0.7, -0.05, 0.3])
    simplex = np.vstack([start, *(start + np.diag(steps))])
    found = optimize.minimize(
        loss,
        start,
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "maxfev": ROUNDS, "xatol": 0.01, "fatol": 0.0005},
    )
    return _control(found.x, bdp)


def _sample(
    loaded: Mapping[str, Any],
    name: str,
    load: float,
    seed: int,
    flows: int,
    scheme: str,
    trace: Path,
) -> Sample:
    """Draws flows, writes them into `trace`, and runs them at packet level."""
    chosen = next(c for c in loaded["classes"] if c["name"] == name)
    kept = {key: chosen[key] for key in ("name", "flowsizes", "interarrivals") if key in chosen}
    if "flowsizes" not in kept:
        raise SpecError(f"classes.{name}.flowsizes", "is missing; a trace has no load to set")
    if "interarrivals" in kept:
        kept["interarrivals"] = {k: v for k, v in kept["interarrivals"].items() if k != "mu"}
    network = loaded["network"]
    spec = {
        "seed": seed,
        "network": {"link": network["link"], "rtt": network["rtt"]},
        "queue": "fifo",
        "classes": [{**kept, "load": load}],
    }
    drawn = planning.flows({**spec, "cc": PRESETS[scheme]}, flows)
    spec["classes"] = [{"name": name, "trace": str(trace)}]
    sender = np.random.default_rng(seed).integers(0, SENDERS, len(drawn))
    rows = zip(drawn["start_s"], sender, drawn["size_bytes"], strict=True)
    lines = [f"{start:.12f},{host},{SENDERS},{size}" for start, host, size in rows]
    trace.write_text("\n".join(["start_s,src,dst,size_bytes", *lines]) + "\n")
    result = run(
        {
            "seed": seed,
            "packet": PACKET,
            "topology": {
                "kind": "star",
                "senders": SENDERS,
                "host_rate": network["link"],
                "base_rtt": {"value": network["rtt"], "includes": "propagation"},
            },
            "traffic": {"trace": str(trace)},
            "measure": {"fct_ends": "ack"},
            "scheme": scheme,
        }
    )
    sizes = drawn["size_bytes"].to_numpy().astype(float)
    alone = (drawn["fct_s"] / drawn["slowdown"]).to_numpy()  # RTT + size / rate
    per_byte, rtt = np.polyfit(sizes, alone, 1)
    fcts = result.flows["fct_s"].to_numpy()
    return Sample(f"{name}, load {load:g}", spec, float(rtt / per_byte), sizes, fcts / alone)


def _control(point: NDArray[np.float64], bdp: float) -> dict[str, Any]:
    """Parameters from a point of the search, inside their bounds."""
    eta, thresh, target, beta = point
    return {
        "r_init": "line",
        "u_target": round(float(np.clip(target, 0.5, 1.0)), 4),
        "thresh": f"{round(bdp * math.exp(min(thresh, 5.0)))}B",
        "beta": round(float(np.clip(beta, 0.0, 3.0)), 4),
        "eta": round(math.exp(float(np.clip(eta, -4.0, 4.0))), 4),
    }


def _bins(sizes: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Size ranges (from, to] that hold about the same number of flows."""
    edges = np.unique(np.quantile(sizes, np.linspace(0, 1, BINS + 1), method="inverted_cdf"))
    return [
        (float(low), float(high)) for low, high in zip([0.0, *edges[1:-1]], edges[1:], strict=True)
    ]


def _p99(slowdowns: NDArray[np.float64]) -> float:
    return float(np.quantile(slowdowns, 0.99, method="inverted_cdf"))


def _loss(sample: Sample, control: Mapping[str, Any]) -> float:
    """Mean of |log(model / packet)| over the bins up to a BDP, and of long flows' mean."""
    model = sample.model(control)
    parts = []
    for low, high in _bins(sample.sizes):
        inside = (sample.sizes > low) & (sample.sizes <= high)
        if high <= sample.bdp:
            parts.append(abs(math.log(_p99(model[inside]) / _p99(sample.slowdowns[inside]))))
    long = sample.sizes > LONG_BYTES
    if long.any():
        parts.append(abs(math.log(model[long].mean() / sample.slowdowns[long].mean())))
    return float(np.mean(parts))


def _errors(
    sample: Sample, held_out: bool, fitted: Mapping[str, Any], preset: str
) -> dict[str, Any]:
    models = {"fitted": sample.model(fitted), "preset": sample.model({"preset": preset})}
    long = sample.sizes > LONG_BYTES

    def means() -> dict[str, float | None]:
        each = {"packet": sample.slowdowns, **models}
        return {k: float(v[long].mean()) if long.any() else None for k, v in each.items()}

    bins = []
    for low, high in _bins(sample.sizes):
        inside = (sample.sizes > low) & (sample.sizes <= high)
        bins.append(
            {
                "from_bytes": low,
                "to_bytes": high,
                "up_to_bdp": high <= sample.bdp,
                "p99": _p99(sample.slowdowns[inside]),
                **{k: _p99(v[inside]) for k, v in models.items()},
            }
        )
    return {
        "sample": sample.name,
        "held_out": held_out,
        "flows": len(sample.sizes),
        "bins": bins,
        "long_mean": means(),
    }


def as_toml(found: Mapping[str, Any]) -> str:
    """The parameters as a line of a specification."""
    values = ", ".join(
        f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
        for key, value in found["cc"].items()
    )
    comment = f"# Fitted to {found['scheme']} of the packet engine by fctlab calibrate."
    return f"{comment}\ncc = {{ {values} }}\n"
