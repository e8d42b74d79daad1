"""The flows of all runs of a comparison in one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from fctlab.results import kinds

if TYPE_CHECKING:
    import pyarrow as pa


def write(runs: Sequence[tuple[str, str, float | None, int]], folder: Path) -> None:
    """Write them with the columns ``scheme``, ``load`` and ``seed``, batch by batch.

    Args:
        runs: of each the name of its folder, scheme, load and seed.
        folder: a result directory, which has the runs.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    def batches() -> Iterator[pa.Table]:
        for name, scheme, load, seed in runs:
            labels = {
                "scheme": pa.scalar(scheme, pa.string()),
                "load": pa.scalar(load, pa.float64()),
                "seed": pa.scalar(seed, pa.uint64()),
            }
            file = pq.ParquetFile(folder / kinds.RUNS / name / kinds.FLOWS)
            for batch in file.iter_batches():
                table = pa.Table.from_batches([batch])
                for column, value in labels.items():
                    table = table.append_column(column, pa.repeat(value, len(table)))
                yield table

    tables = batches()
    first = next(tables)
    with pq.ParquetWriter(folder / kinds.FLOWS, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
