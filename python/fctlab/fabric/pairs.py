"""Who sends to whom in flows that a sampled log does not have.

Shares of senders, of receivers, and of receivers of one sender are drawn from Dirichlet
distributions, given how many records each has. Each is as far from even as counts vary more than
those of dice; the rest is chance, which records have more of than all flows had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


def table(source: Ints, destination: Ints, hosts: int) -> Floats:
    """How many records there are of each sender (rows) and receiver."""
    found: Floats = np.zeros((hosts, hosts))
    np.add.at(found, (source, destination), 1)
    return found


def senders(records: Floats, rng: np.random.Generator) -> Floats:
    """Shares of all senders, given a `table` of records."""
    shares: Floats = _shares(records.sum(1)[None, :], _even(len(records)), rng)[0]
    return shares


def receivers(records: Floats, source: Ints, rng: np.random.Generator) -> Ints:
    """Receivers of flows from these senders, given a `table` of records."""
    hosts = len(records)
    base = np.repeat(_shares(records.sum(0)[None, :], _even(hosts), rng), hosts, 0)
    np.fill_diagonal(base, 0.0)
    rows = _shares(records, base / np.maximum(base.sum(1, keepdims=True), 1e-300), rng)
    steps = np.cumsum(rows, 1)
    # Beyond the last that has a share there is nobody.
    last = hosts - 1 - (rows[:, ::-1] > 0).argmax(1)
    found = (rng.random(len(source))[:, None] >= steps[source]).sum(1)
    receivers_: Ints = np.minimum(found, last[source]).astype(np.int64)
    return receivers_


def _even(hosts: int) -> Floats:
    return np.full((1, hosts), 1 / hosts)


def _shares(counts: Floats, base: Floats, rng: np.random.Generator) -> Floats:
    """Shares of each row, about those of `base`."""
    total = counts.sum(1, keepdims=True)
    pairs = float((total * (total - 1)).sum())
    alike = (base**2).sum(1, keepdims=True)
    if pairs <= 0:
        return base
    more = float(((counts - total * base) ** 2).sum() - (total * (1 - alike)).sum()) / pairs
    error = float(np.sqrt((2 * total**2 * alike).sum())) / pairs
    if more <= error:
        return base
    prior = max(float((1 - alike).mean()) / more - 1, 1e-3)
    drawn_ = rng.gamma(prior * base + counts)
    return np.asarray(drawn_ / np.maximum(drawn_.sum(1, keepdims=True), 1e-300))
