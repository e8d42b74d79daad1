"""The constructions in the paper's proofs, and their steps on random instances."""

from __future__ import annotations

from typing import Literal, TypeAlias

from fctlab.jobs import Told
from fctlab.theory.bigswitch import Policy, ask, policy, ratios
from fctlab.theory.types import Construction, Family, Instance, Theorem1, Theorem2, Theorem8

FamilyName: TypeAlias = Literal["golden", "heavy", "crowd", "equal"]


def theorem1(by: Policy, n: int, *, stream: int = 8, told: Told | None = None) -> Theorem1:
    """The adversary of theorem 1, which hides last packets from a policy.

    Args:
        by: the policy.
        n: flows that it is fooled with, 2 to 5.
        stream: flows of one packet that follow, as a multiple of the FCT before them.
        told: called again and again meanwhile; what it raises ends it.

    Raises:
        SpecError: a mistake in the policy, or too many packets.
    """
    return Theorem1.read(ask("theorem1", told, policy=policy(by), n=n, stream=stream))


def theorem2(
    instances: int, *, seed: int = 1, told: Told | None = None, **shape: int | bool
) -> Theorem2:
    """FPT against FCT under every policy, on random instances.

    Args:
        instances: how many.
        seed: of them.
        told: called again and again meanwhile; what it raises ends it.
        shape: see `bigswitch.random_ratios`.

    Raises:
        SpecError: a mistake in any of these.
    """
    return Theorem2.read(ask("theorem2", told, shape=shape, instances=instances, seed=seed))


def theorem3(n: int, *, factor: int = 8) -> Instance:
    """On which FIFO has at least `n` / 2 times the least FPT, in the limit of large factors.

    Raises:
        SpecError: it gets too large.
    """
    return Instance.read(ask("theorem3", n=n, factor=factor))


def theorem6(n: int, by: Policy, *, factor: int = 8) -> Instance:
    """The same for PIAS with the thresholds of a policy; any other has the threshold 1.

    Raises:
        SpecError: a mistake in the policy, or it gets too large.
    """
    thresholds = policy(by).get("thresholds", [1])
    return Instance.read(ask("theorem6", n=n, factor=factor, thresholds=thresholds))


def theorem8(
    by: Policy,
    instances: int,
    *,
    seed: int = 1,
    told: Told | None = None,
    **shape: int | bool,
) -> Theorem8:
    """The steps in the proof of theorem 8 on random instances.

    Args:
        by: ``ga`` of a policy.
        instances: how many.
        seed: of them.
        told: called again and again meanwhile; what it raises ends it.
        shape: see `bigswitch.random_ratios`.

    Raises:
        SpecError: a mistake in any of these.
    """
    found = ask("theorem8", told, shape=shape, policy=policy(by), instances=instances, seed=seed)
    return Theorem8.read(found)


def against(by: Policy, instance: Instance) -> Construction:
    """A policy against the least FPT of a construction.

    Raises:
        SpecError: a mistake in the policy.
    """
    found = ratios(instance, [by])
    return Construction(value=found.policies[0].ratio, optimum=found.optimum, instance=instance)


def family(name: FamilyName, n: int) -> Family:
    """An instance of a family on which a policy does badly, see ``docs/explanation/bigswitch.md``.

    Raises:
        SpecError: `n` is not in [1, 2000].
    """
    return Family.read(ask("family", family=name, n=n))
