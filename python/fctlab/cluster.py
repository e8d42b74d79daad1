"""Jobs on a Ray cluster: an executor that `fctlab.jobs.run_jobs` takes.

Every job states its cores and memory; files that it reads travel with it, by content; a job whose
worker is lost is done again elsewhere. Engine and Python of every node are compared at
the start, as another build could find other numbers.
"""

from __future__ import annotations

import logging
import os
import platform
import socket
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from fctlab import choices
from fctlab.errors import SpecError
from fctlab.jobs import Job, deaf, engine
from fctlab.results.inputs import packed, unpacked

T = TypeVar("T")

EXECUTORS = ("threads", "ray")
RETRIES = 20
"""Times that a job is done again when its worker is lost."""
CONNECT_S = 5
"""Until an address has to answer."""
QUEUED_PER_CORE = 2
"""Jobs handed to the cluster, so that no core waits for the next one."""


@contextmanager
def opened(name: str | None, address: str | None = None) -> Iterator[Executor | None]:
    """An executor by name; ``None`` for threads of this process.

    Args:
        name: one of `EXECUTORS`.
        address: of a Ray cluster, ``"auto"`` or ``"HOST:PORT"``; a local one is started if None.

    Raises:
        SpecError: there is none of that name, Ray is not installed, the address does not answer,
            or its nodes have another engine.
    """
    if name is not None:
        choices.check("executor", name, EXECUTORS, "an executor")
    if name != "ray":
        if address is not None:
            raise SpecError("address", "is of a Ray cluster; say executor ray")
        yield None
        return
    with RayExecutor(address) as executor:
        yield executor


class RayExecutor(Executor):
    """Does jobs on a Ray cluster.

    Args:
        address: see `opened`.

    Attributes:
        cores: how many jobs of one core may be handed over at a time.
    """

    def __init__(self, address: str | None = None) -> None:
        try:
            import ray
        except ImportError:
            remedy = "pip install 'fctlab[ray]'"
            raise SpecError("executor", f"Ray is not installed: {remedy}") from None
        _check_answers(address)
        try:
            ray.init(
                # Ray would take RAY_ADDRESS, or whatever cluster was started here last.
                address or "local",
                include_dashboard=None if address else False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except Exception as error:  # of no kind of its own where a busy machine starts it too late
            first = str(error).strip().partition("\n")[0]
            if address is None:
                raise SpecError("executor", f"Ray does not start here: {first}") from None
            raise SpecError("address", f"{address} does not answer: {first}") from None
        self._ray: Any = ray
        self._contents: dict[str, Any] = {}
        try:
            self._compare()
        except BaseException:
            ray.shutdown()
            raise
        self.cores = int(QUEUED_PER_CORE * self._ray.cluster_resources().get("CPU", 1))

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Calls a module-level function on the cluster."""
        remote = self._ray.remote(max_retries=RETRIES)(fn)
        future: Future[T] = remote.remote(*args, **kwargs).future()
        return future

    def submit_job(self, job: Job[T]) -> Future[T]:
        """Does a job on the cluster."""
        given, files = packed(job.input)
        for named, file in files.items():
            if named not in self._contents:
                self._contents[named] = self._ray.put(file.read_bytes())
        asked: dict[str, Any] = {"num_cpus": job.cores, "max_retries": RETRIES, "name": job.name}
        if job.memory_bytes:
            asked["memory"] = job.memory_bytes
        remote = self._ray.remote(_do).options(**asked)
        contents = [self._contents[named] for named in files]
        future: Future[T] = remote.remote(job.function, given, list(files), *contents).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leaves the cluster; jobs under way end."""
        self._ray.shutdown()

    def _compare(self) -> None:
        """Compares engine and Python of every node with those here."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        asked = self._ray.remote(num_cpus=0)(_identity)
        found: dict[str, Any] = {}
        for node in nodes:
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            found[node["NodeManagerHostname"]] = asked.options(scheduling_strategy=there).remote()
        for host, answer in found.items():
            try:
                other = self._ray.get(answer)
            except self._ray.exceptions.RayError as error:
                first = str(error).strip().splitlines()[-1]
                raise SpecError("executor", f"{host} cannot run fctlab: {first}") from None
            if other != _identity():
                pairs = zip(other, _identity(), strict=True)
                told = " and ".join(f"{a} there, {b} here" for a, b in pairs if a != b)
                raise SpecError("executor", f"{host} would find other numbers: {told}")


def _check_answers(address: str | None) -> None:
    """Ray itself waits for minutes for an address where nobody listens.

    Raises:
        SpecError: nobody does, or it is no address.
    """
    if address in (None, "auto", "local") or "://" in str(address):
        return
    host, colon, port = str(address).rpartition(":")
    try:
        if not colon or not host:
            raise ValueError("it is not HOST:PORT or auto")
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, ValueError) as error:
        raise SpecError("address", f"{address} does not answer: {error}") from None


def _identity() -> tuple[str, str]:
    """Of the engine and Python of a process."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"engine {engine()}", f"Python {python}"


def _do(function: Callable[[Any, Any], T], given: Any, named: list[str], *contents: bytes) -> T:
    """Does a job in a worker, its files in a folder of this machine."""
    folder = Path(tempfile.gettempdir()) / f"fctlab-inputs-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return function(unpacked(given, dict(zip(named, contents, strict=True)), folder), deaf)
