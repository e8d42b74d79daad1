"""A store of points: what finished jobs found, a file each, named by the job's key.

::

    STORE/store.json             which format
    STORE/points/3f/3f…e2.json   a point: what went in, what was found, and a digest of both
    STORE/points/3f/3f…e2.parquet   its flows, if they are kept
    STORE/times/3f/3f…e2.json    how long it took, and where; no part of the point
    STORE/listed/…               a line about each point (`fctlab.results.listed`)

The names are the manifest: a point that is there is whole (written under a temporary name, seen
through to the disk, renamed), and the same job writes the same bytes wherever it runs. So two
processes may fill one store, and two stores become one when one is copied over the other.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fctlab.errors import OutputError, SpecError
from fctlab.jobs import Job, key
from fctlab.results.drafts import PREFIX, drop_left_behind, write_whole
from fctlab.results.inputs import packed
from fctlab.results.kinds import STORE_FILE
from fctlab.results.listed import Line, Lines

if TYPE_CHECKING:
    import polars as pl

FORMAT = 1
"""Of stores; one of another format is not read."""
POINTS = "points"
TIMES = "times"
FLOWS = ".parquet"


@dataclass(frozen=True)
class Point:
    """What a job found.

    Attributes:
        key: of the job.
        input: what it was given, names of files replaced by digests of their contents.
        found: the answer.
        flows_digest: SHA-256 of the flows that are kept beside it, if they are.
    """

    key: str
    input: Mapping[str, Any]
    found: Mapping[str, Any]
    flows_digest: str | None = None

    def encoded(self) -> bytes:
        """As it is stored; equal points are equal bytes."""
        body = {"input": self.input, "found": self.found, "flows": self.flows_digest}
        text = _canonical({"format": FORMAT, "key": self.key, **body})
        digest = hashlib.sha256(text.encode()).hexdigest()
        return f'{{"digest":"{digest}","point":{text}}}\n'.encode()


@dataclass(frozen=True)
class Found:
    """What a job returns whose answer is a point.

    Attributes:
        answer: plain values, the same wherever they are found.
        times: how long it took (``wall_s``, ``cpu_s``, ...); no part of the point.
        flows: Parquet, if flows are kept.
    """

    answer: dict[str, Any]
    times: dict[str, Any]
    flows: bytes | None = None


@dataclass(frozen=True)
class Wanted:
    """A job whose answer is a point.

    Attributes:
        key: of the job: the point's name in a store.
        given: the job's input, with digests in the place of names of files.
        job: what is done where the point is not there.
    """

    key: str
    given: dict[str, Any]
    job: Job[Found]

    @classmethod
    def of(cls, job: Job[Found]) -> Wanted:
        """What `job` finds."""
        given, _ = packed(job.input)
        return cls(key(job.function, given), given, job)


def _canonical(value: object) -> str:
    form: dict[str, Any] = {"sort_keys": True, "separators": (",", ":"), "allow_nan": False}
    return json.dumps(value, ensure_ascii=False, **form)


class PointStore:
    """A directory of points.

    Args:
        directory: made if `create`.
        create: make it if it is not there.

    Raises:
        SpecError: it holds no store, or one of another format.
        OutputError: it cannot be made.
    """

    def __init__(self, directory: str | PathLike[str], *, create: bool = False) -> None:
        self.directory = Path(directory)
        manifest = self.directory / STORE_FILE
        if create and not manifest.exists():
            try:
                self.directory.mkdir(parents=True, exist_ok=True)
                write_whole(manifest, _canonical({"fctlab_store": FORMAT}) + "\n")
            except OSError as error:
                raise OutputError(f"{directory}: cannot be written: {error.strerror}") from None
        if create:
            self._drop_drafts()
        if not manifest.is_file():
            raise SpecError(str(directory), f"holds no store of points: it has no {STORE_FILE}")
        try:
            found = json.loads(manifest.read_bytes()).get("fctlab_store")
        except (OSError, ValueError, AttributeError):
            raise SpecError(str(manifest), "is not the manifest of a store") from None
        if found != FORMAT:
            message = f"is a store of format {found!r}; this version reads format {FORMAT}"
            raise SpecError(str(manifest), message)
        self._lines = Lines(self.directory)

    def names(self) -> set[str]:
        """Keys of all points that are there."""
        return {file.stem for file in self._files()}

    def __contains__(self, key: str) -> bool:
        return self.file(key).exists()

    def file(self, key: str) -> Path:
        """Where a point is, or would be."""
        return self.directory / POINTS / key[:2] / f"{key}.json"

    def flows_file(self, key: str) -> Path:
        """Where the flows of a point are, if they are kept."""
        return self.file(key).with_suffix(FLOWS)

    def put(
        self, point: Point, times: Mapping[str, Any] | None = None, flows: bytes | None = None
    ) -> None:
        """Keep a point, whole or not at all; the point comes last, so its flows are there.

        Args:
            point: what was found.
            times: how long it took (``wall_s``, ``cpu_s``, ...); the machine is added.
            flows: Parquet, whose digest the point names.

        Raises:
            OutputError: the system refuses; what is there stays.
        """
        file, timed = self.file(point.key), self._times_file(point.key)
        try:
            for folder in (file.parent, timed.parent):
                folder.mkdir(parents=True, exist_ok=True)
            if flows is not None:
                write_whole(self.flows_file(point.key), flows)
            if times is not None:
                write_whole(timed, _canonical({**times, "machine": platform.node()}) + "\n")
            write_whole(file, point.encoded())
        except OSError as error:
            raise OutputError(f"{self.directory}: {error.strerror or error}") from error
        self._lines.add(Line.of(point.key, point.input, point.found, times or {}))

    def keep(self, wanted: Wanted, found: Found) -> None:
        """Keep what a job found, as `put` does."""
        digest = None if found.flows is None else hashlib.sha256(found.flows).hexdigest()
        self.put(Point(wanted.key, wanted.given, found.answer, digest), found.times, found.flows)

    def get(self, key: str) -> Point:
        """A point.

        Raises:
            SpecError: it is not there, or is not what was written.
        """
        file = self.file(key)
        try:
            raw = file.read_bytes()
        except OSError as error:
            raise SpecError(str(file), f"cannot be read: {error.strerror}") from None
        point = _decoded(raw)
        if point is None or point.key != key:
            remedy = "fctlab store gc removes it, and it is computed again"
            raise SpecError(str(file), f"is damaged: its digest is another; {remedy}")
        return point

    def times(self, key: str) -> dict[str, Any]:
        """How long a point took, and where; empty where that is not known."""
        try:
            found = json.loads(self._times_file(key).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def damaged(self) -> Iterator[tuple[Path, str]]:
        """Files that are not what was written, and what is wrong with each."""
        for file in self._files():
            point = _decoded(file.read_bytes())
            if point is None or point.key != file.stem:
                yield file, "its digest is another"
            elif point.flows_digest is not None:
                flows = self.flows_file(point.key)
                if not flows.exists():
                    yield file, f"its flows are not there ({flows.name})"
                elif _digest(flows) != point.flows_digest:
                    yield flows, "its digest is another"

    def clean(self, *, remove: Iterable[str] = ()) -> list[Path]:
        """Removes what nobody can use, and what is asked for.

        Args:
            remove: keys of points that are not wanted any more.

        Returns:
            Damaged points, flows and times without a point, drafts of processes that were killed.
        """
        gone = [file for file, _ in self.damaged()]
        gone += [self.file(key) for key in remove]
        for file in gone:
            file.unlink(missing_ok=True)
        keys = self.names()
        loose = [*self.directory.glob(f"{POINTS}/*/*{FLOWS}"), *self._timed()]
        loose = [file for file in loose if file.stem not in keys and file not in gone]
        for file in loose:
            file.unlink(missing_ok=True)
        return sorted({*gone, *loose, *self._drop_drafts()})

    def _drop_drafts(self) -> list[Path]:
        """Removes what processes left that were killed while they wrote."""
        folders = [self.directory, *self.directory.glob("*"), *self.directory.glob("*/*")]
        return [each for folder in folders if folder.is_dir() for each in drop_left_behind(folder)]

    def scan_flows(self, keys: Iterable[str] | None = None) -> pl.LazyFrame:
        """Flows of points, with the column ``key``, read only as far as needed.

        Args:
            keys: of which points; of all that keep them unless given.

        Raises:
            SpecError: no point keeps flows.
        """
        import polars as pl

        wanted = self.names() if keys is None else keys
        files = [file for file in map(self.flows_file, sorted(wanted)) if file.exists()]
        if not files:
            raise SpecError(str(self.directory), 'no point keeps its flows (keep = "flows")')
        frame = pl.scan_parquet(files, include_file_paths="key")
        return frame.with_columns(pl.col("key").str.extract(r"(\w+)\.parquet$"))

    def of_each(
        self, query: Callable[[pl.LazyFrame], pl.LazyFrame], keys: Iterable[str] | None = None
    ) -> pl.DataFrame:
        """What a query finds in the flows of each point, under one another.

        One point's flows are in memory at a time, whatever the store has.

        Args:
            query: of a frame as `scan_flows` has it.
            keys: of which points; of all that keep their flows unless given.

        Raises:
            SpecError: no point keeps flows.
        """
        import polars as pl

        wanted = sorted(self.names() if keys is None else keys)
        kept = [key for key in wanted if self.flows_file(key).exists()]
        frames = [self.scan_flows([key]) for key in kept] or [self.scan_flows(())]
        return pl.concat([query(frame).collect() for frame in frames])

    def _files(self) -> Iterator[Path]:
        points = self.directory / POINTS
        for folder in sorted(points.iterdir()) if points.is_dir() else ():
            if folder.is_dir():
                for file in sorted(folder.iterdir()):
                    if file.suffix == ".json" and not file.name.startswith(PREFIX):
                        yield file

    def _timed(self) -> Iterator[Path]:
        return self.directory.glob(f"{TIMES}/*/*.json")

    def _times_file(self, key: str) -> Path:
        return self.directory / TIMES / key[:2] / f"{key}.json"


class _Body(msgspec.Struct):
    format: int
    key: str
    input: dict[str, Any]
    found: dict[str, Any]
    flows: str | None


class _Stored(msgspec.Struct):
    digest: str
    point: msgspec.Raw


def _decoded(raw: bytes) -> Point | None:
    """A point from its bytes; ``None`` where they are not what was written."""
    try:
        stored = msgspec.json.decode(raw, type=_Stored)
        body = msgspec.json.decode(stored.point, type=_Body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if hashlib.sha256(stored.point).hexdigest() != stored.digest or body.format != FORMAT:
        return None
    return Point(body.key, body.input, body.found, body.flows)


def _digest(file: Path) -> str:
    found = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(1 << 20):
            found.update(block)
    return found.hexdigest()
