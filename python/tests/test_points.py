"""Stores of points: whole or not there, the same bytes, never mixed up."""

from __future__ import annotations

import fcntl
import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from fctlab import SpecError
from fctlab.results import drafts, listed
from fctlab.results.kinds import STORE_FILE
from fctlab.results.points import Point, PointStore
from fctlab.sweep import listing


def point(number: int, **found: Any) -> Point:
    key = f"{number:032x}"
    return Point(key, {"scenario": {"seed": number}}, {"summary": [], **found})


def filled(directory: Path, count: int) -> PointStore:
    store = PointStore(directory, create=True)
    for number in range(count):
        store.put(point(number), {"wall_s": 1.0})
    return store


def test_a_point_comes_back_as_it_was(tmp_path: Path) -> None:
    store = filled(tmp_path, 3)
    assert store.names() == {f"{n:032x}" for n in range(3)}
    assert store.get(f"{1:032x}") == point(1)
    assert store.times(f"{1:032x}")["wall_s"] == 1.0


def test_times_and_machine_are_no_part_of_a_point(tmp_path: Path) -> None:
    store = filled(tmp_path, 1)
    before = store.file(f"{0:032x}").read_bytes()
    store.put(point(0), {"wall_s": 2.0})
    assert store.file(f"{0:032x}").read_bytes() == before


@pytest.mark.parametrize("damage", [b"", b"{", b'{"digest":"0","point":{}}'])
def test_a_damaged_point_is_named_and_gone_after_cleaning(tmp_path: Path, damage: bytes) -> None:
    store = filled(tmp_path, 2)
    file = store.file(f"{1:032x}")
    file.write_bytes(damage)
    with pytest.raises(SpecError, match=r"damaged.*store gc"):
        store.get(f"{1:032x}")
    assert [each for each, _ in store.damaged()] == [file]
    assert file in store.clean()
    assert store.names() == {f"{0:032x}"}
    assert not list(store.damaged())


def test_a_single_changed_digit_is_noticed(tmp_path: Path) -> None:
    store = filled(tmp_path, 1)
    store.put(point(0, value=1.25))
    file = store.file(f"{0:032x}")
    file.write_bytes(file.read_bytes().replace(b"1.25", b"1.26"))
    assert [each for each, _ in store.damaged()] == [file]


def test_flows_belong_to_their_point(tmp_path: Path) -> None:
    store = PointStore(tmp_path, create=True)
    import hashlib

    digest = hashlib.sha256(b"flows").hexdigest()
    kept = Point(f"{7:032x}", {}, {}, digest)
    store.put(kept, flows=b"flows")
    assert not list(store.damaged())
    store.flows_file(kept.key).write_bytes(b"other")
    assert [each.suffix for each, _ in store.damaged()] == [".parquet"]
    store.flows_file(kept.key).unlink()
    assert [why for _, why in store.damaged()] == [f"its flows are not there ({kept.key}.parquet)"]


def test_drafts_of_killed_processes_are_cleaned(tmp_path: Path) -> None:
    store = filled(tmp_path, 1)
    left = store.file(f"{0:032x}").with_name(".fctlab-123-4")
    left.write_bytes(b"half a po")
    assert store.names() == {f"{0:032x}"}
    assert left in store.clean()
    assert not left.exists()


def test_who_fills_a_store_removes_what_killed_processes_left(tmp_path: Path) -> None:
    point_file = filled(tmp_path, 1).file(f"{0:032x}")
    left = [each.with_name(".fctlab-123-4") for each in (tmp_path / STORE_FILE, point_file)]
    for each in left:
        each.write_bytes(b"half")
    live = point_file.with_name(".fctlab-567-8")
    with live.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        PointStore(tmp_path)
        assert all(each.exists() for each in left), "who only reads changes nothing"
        PointStore(tmp_path, create=True)
    assert not any(each.exists() for each in left) and live.exists()


def test_a_file_whose_draft_was_taken_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Path] = []

    def take(file: int) -> None:
        if not taken:
            (draft,) = tmp_path.glob(".fctlab-*")
            draft.unlink()
            taken.append(draft)

    monkeypatch.setattr("fctlab.results.drafts.os.fsync", take)
    drafts.write_whole(tmp_path / "a", "whole")
    assert taken and (tmp_path / "a").read_text() == "whole"
    assert not list(tmp_path.glob(".fctlab-*"))
    with pytest.raises(FileNotFoundError):
        drafts.write_whole(tmp_path / "nowhere" / "a", "whole")


def test_stores_are_merged_by_copying(tmp_path: Path) -> None:
    one, other = filled(tmp_path / "a", 2), PointStore(tmp_path / "b", create=True)
    other.put(point(9))
    shutil.copytree(other.directory, one.directory, dirs_exist_ok=True)
    assert len(PointStore(one.directory).names()) == 3
    assert not list(one.damaged())


def test_another_version_is_refused(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    (tmp_path / STORE_FILE).write_text(json.dumps({"fctlab_store": 99}))
    with pytest.raises(SpecError, match="format 99; this version reads format 1"):
        PointStore(tmp_path)
    (tmp_path / STORE_FILE).write_text("[]")
    with pytest.raises(SpecError, match="not the manifest"):
        PointStore(tmp_path)


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="holds no store"):
        PointStore(tmp_path)


def test_many_points_are_listed_fast(tmp_path: Path) -> None:
    store = PointStore(tmp_path, create=True)
    lines = listed.Lines(tmp_path)
    for number in range(20_000):
        key = f"{number % 256:02x}{number:030x}"
        file = store.file(key)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
        lines.add(listed.Line(key, seed=number))
    start = time.process_time()
    assert len(listing.points(store)) == 20_000
    assert time.process_time() - start < 1.0  # 100,000 in 5 s


def without_lines(store: PointStore) -> PointStore:
    shutil.rmtree(store.directory / listed.FOLDER)
    return store


def test_what_was_kept_is_listed_without_reading_it(tmp_path: Path) -> None:
    store = filled(tmp_path, 3)
    # Another process's, which was killed while it wrote.
    other = tmp_path / listed.FOLDER / "other.jsonl"
    other.write_bytes(b'["cut')
    store.file(f"{1:032x}").write_bytes(b"damaged")
    first = listing.points(store)
    assert first["seed"].to_list() == [0, 1, 2] and first["wall_s"].to_list() == [1.0] * 3
    store.put(point(3), {"wall_s": 2.0, "cpu_s": 1.5, "engine": "e"})
    store.file(f"{0:032x}").unlink()
    then = listing.points(store)
    assert then["seed"].to_list() == [1, 2, 3]
    assert then.row(2, named=True)["cpu_s"] == 1.5
    assert not (tmp_path / listing.INDEX).exists()


def test_a_listing_reads_points_without_a_line_once(tmp_path: Path) -> None:
    told = listing.points(filled(tmp_path, 3))
    store = without_lines(PointStore(tmp_path))
    first = listing.points(store)
    assert first.equals(told)
    # What has been listed is not read again.
    store.file(f"{1:032x}").write_bytes(b"damaged")
    assert listing.points(store).equals(first)
    store.put(point(3), {"wall_s": 2.0})
    store.file(f"{0:032x}").unlink()
    assert listing.points(store)["seed"].to_list() == [1, 2, 3]


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"junk" * 100])
def test_an_index_that_is_damaged_is_made_again(tmp_path: Path, damage: bytes) -> None:
    store = without_lines(filled(tmp_path, 2))
    first = listing.points(store)
    (tmp_path / listing.INDEX).write_bytes(damage)
    assert listing.points(store).equals(first)
    assert len((tmp_path / listing.INDEX).read_bytes()) > len(damage)


def test_an_answer_is_listed_by_its_function(tmp_path: Path) -> None:
    store = PointStore(tmp_path, create=True)
    store.put(Point("0" * 32, {"function": {"name": "m:f"}, "given": {}}, {"answer": 1}))
    assert listing.points(store)["name"].to_list() == ["m:f"]
