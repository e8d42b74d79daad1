"""Exports as directories: the files, how to use them, and an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fctlab.export import words
from fctlab.export.answer import Export
from fctlab.results import kinds, store


@contextmanager
def keeping(
    out: Path | None, reads: Iterable[Path], force: bool
) -> Iterator[Callable[[Export], Export]]:
    """What keeps an export, if it is to be kept; the place is seen to before.

    Args:
        out: the directory; ``None`` to keep nothing.
        reads: files that the export reads.
        force: overwrite what would otherwise be refused.
    """
    if out is None:
        yield lambda found: found
        return
    with store.writing(out, None, kinds.EXPORT, reads=reads, force=force) as draft:

        def keep(found: Export) -> Export:
            for file in found.files:
                (draft.folder / file.name).write_text(file.text, encoding="utf-8")
            (draft.folder / kinds.EXPORT_WORDS).write_text(words.page(found), encoding="utf-8")
            index = {**found.to_dict(), "words": kinds.EXPORT_WORDS}
            index["files"] = [{"name": file.name, "what": file.what} for file in found.files]
            store.write_json(draft.folder / kinds.EXPORT_FILE, index)
            return found

        yield keep
