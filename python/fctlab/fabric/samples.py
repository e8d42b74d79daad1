"""Sampled flow logs: what a record stands for, and the flows that were not recorded.

Records of weight w stand for w flows: themselves and w - 1 that are missing. These have the sizes
of the records that stand for them. Copies would repeat what is chance in records, w times as
strong; so ends are drawn as in `pairs` and starts as in `bursts`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fctlab.errors import SpecError
from fctlab.fabric import bursts, pairs
from fctlab.slo import flowlog

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Rates:
    """Which share of flows a log has, by size.

    Attributes:
        above: bytes that a flow has more than, and the share; the largest first.
    """

    above: tuple[tuple[float, float], ...]

    @classmethod
    def read(cls, text: str) -> Rates:
        """``1MB=1,10KB=0.25,0B=0.03``: all above 1 MB, a quarter above 10 KB, 3% of the rest.

        Raises:
            SpecError: it reads otherwise, or says nothing of small flows.
        """
        found: dict[float, float] = {}
        for each in text.split(","):
            size, _, share = (part.strip() for part in each.partition("="))
            try:
                number, kept = re.fullmatch(r"([\d.]+)(B|KB|MB|GB)", size), float(share)
                bytes_ = float(number[1]) * flowlog.SIZES[number[2]] if number else math.nan
                if not (0 < kept <= 1 and bytes_ >= 0) or bytes_ in found:
                    raise ValueError
            except ValueError:
                said = f"{each.strip()!r} is not SIZE=SHARE with a share in (0, 1]"
                raise SpecError("sampled", f"{said}, such as 1MB=1,10KB=0.25,0B=0.03") from None
            found[bytes_] = kept
        if 0.0 not in found:
            raise SpecError("sampled", f"{text!r} says nothing of the smallest flows: add 0B=0.03")
        return cls(tuple(sorted(found.items(), reverse=True)))

    def shares(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of flows of these sizes."""
        over = [sizes > size for size, _ in self.above]
        return np.select(over, [share for _, share in self.above], 1.0)


def expanded(flows: pl.DataFrame, hosts: int, until_s: float, seed: int) -> pl.DataFrame:
    """The flows that records stand for.

    Args:
        flows: records, with ``start_s``, ``bytes``, ``src``, ``dst``, ``class`` and ``weight``.
        hosts: how many there are.
        until_s: all start before.
        seed: of what is drawn.
    """
    import polars as pl

    rng = np.random.default_rng(seed)
    classes = flows.partition_by("class", maintain_order=True)
    missing = [_missing(records, hosts, until_s, rng) for records in classes]
    return pl.concat([flows, *missing]).sort("start_s", maintain_order=True)


def _missing(
    records: pl.DataFrame, hosts: int, until_s: float, rng: np.random.Generator
) -> pl.DataFrame:
    """Flows of a class that were not recorded, of its records' sizes."""
    import polars as pl

    source, destination = (records[end].to_numpy().astype(np.int64) for end in ("src", "dst"))
    weight, start_s = (records[name].to_numpy() for name in ("weight", "start_s"))
    # Whole numbers with these means.
    times = np.floor(weight - 1 + rng.random(len(records)))
    like = rng.permutation(np.repeat(np.arange(len(records)), times.astype(np.int64)))
    if not len(like):
        return records.clear()
    known = pairs.table(source, destination, hosts)
    shares = pairs.senders(known, rng) * weight.sum()
    streams = [
        bursts.Stream(host, share, start_s[source == host]) for host, share in enumerate(shares)
    ]
    senders, starts = bursts.drawn(streams, until_s, rng)
    # As many as are missing, some of them twice where there are too few.
    chosen = rng.permutation(len(starts))[: len(like)]
    chosen = np.concatenate((chosen, rng.integers(0, len(starts), len(like) - len(chosen))))
    senders, starts = senders[chosen], starts[chosen]
    return records[like].with_columns(
        pl.Series("start_s", starts),
        pl.Series("src", senders, records["src"].dtype),
        pl.Series("dst", pairs.receivers(known, senders, rng), records["dst"].dtype),
    )


def thinned(flows: pl.DataFrame, rates: Rates, seed: int) -> pl.DataFrame:
    """What a sampler with these rates would have recorded, with weights.

    Args:
        flows: with ``bytes``.
        rates: by size.
        seed: of the sampler.
    """
    import polars as pl

    rng = np.random.default_rng(seed)
    shares = rates.shares(flows["bytes"].to_numpy().astype(float))
    kept = rng.random(len(flows)) < shares
    return flows.with_columns(pl.Series("weight", 1 / shares)).filter(pl.Series(kept))
