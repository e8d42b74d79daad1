"""The columns of a log's file: CSV, TSV, Parquet, JSON lines, Zeek's, tshark's; also packed."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fctlab import memory, readable
from fctlab.errors import SpecError
from fctlab.slo import tshark

if TYPE_CHECKING:
    import polars as pl

KINDS = {
    **{".csv": "text", ".tsv": "text", ".log": "text", ".txt": "text", ".parquet": "parquet"},
    **{".jsonl": "json", ".ndjson": "json", ".json": "json"},
}
"""By ending of a file's name; a ``.log`` may also be of JSON lines."""

SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
FAR_S = 50_000_000_000
"""From 1970 on, or back: 1,584 years, within any calendar."""


class Table:
    """A file's columns, as text where the file does not type them.

    Attributes:
        file: which.
        kind: ``text``, ``json`` or ``parquet``.
        names: of its columns.
        rows: the columns that were loaded, of the rows that are kept.
        notes: lines: what of it was made into flows, and how.
    """

    def __init__(self, file: Path) -> None:
        """Reads the names only.

        Raises:
            SpecError: there is no such file, or it cannot be read.
        """
        self.file, self.rows, self.kept = file, _nothing(), _nothing()
        ending = (file.with_suffix("") if file.suffix == ".gz" else file).suffix
        if ending not in KINDS:
            known = f"{', '.join(KINDS)}, and with .gz behind it"
            raise SpecError(str(file), f"is not a flow log; its name ends in {known}")
        self.kind = KINDS[ending]
        self.separator = "\t" if ending in (".tsv", ".log") else ","
        self.notes: list[str] = []
        self.zeek: list[str] = []
        with self._one_error():
            if self.kind == "text":
                self._sniff()
            self.names = self._names()

    @contextmanager
    def _one_error(self) -> Iterator[None]:
        """Turns what can go wrong while the file is read into one error."""
        from polars.exceptions import PolarsError

        with readable.one_error(str(self.file), ""):
            try:
                yield
            except (EOFError, zlib.error) as error:
                raise OSError(str(error)) from None
            except PolarsError:
                said = self.ragged() if self.kind == "text" else ""
                if not said:
                    raise
                raise SpecError(str(self.file), said) from None

    def _sniff(self) -> None:
        """Zeek names its columns in a comment; its other form is JSON lines."""
        for line in self._lines():
            if line.startswith("{"):
                self.kind = "json"
            elif line.startswith("#"):
                if line.startswith("#fields\t"):
                    self.zeek, self.separator = line.split("\t")[1:], "\t"
                continue
            return

    def _bytes(self) -> Any:
        if self.file.suffix == ".gz":
            with gzip.open(self.file) as packed:
                unpacked = packed.read((most := _most_unpacked()) + 1)
            if len(unpacked) > most:
                message = f"unpacks to more than {most:,} bytes, which memory has no room for"
                raise SpecError(str(self.file), message)
            return io.BytesIO(unpacked)
        return self.file

    def _lines(self) -> Iterator[str]:
        opened = gzip.open if self.file.suffix == ".gz" else open
        with opened(self.file, "rt", encoding="utf-8", errors="replace") as lines:
            yield from (line.rstrip("\r\n") for line in lines)

    def _names(self) -> list[str]:
        import polars as pl

        if self.kind == "text" and tshark.is_conversations(self._lines()):
            return self._made(tshark.conversations(self._lines()), tshark.NOTE)
        if self.kind == "text":
            names = self.zeek or self._text(n_rows=0).columns
            if not tshark.is_packets(names):
                return names
            if not tshark.has_ends(names):
                message = "has packets, and no column that says whose they are, such as ip.src"
                raise SpecError(str(self.file), message)
            return self._made(tshark.flows(self._text()), "packets of one way are one flow")
        if self.kind == "parquet":
            return list(pl.read_parquet_schema(self._bytes()))
        self.rows = pl.read_ndjson(self._bytes(), infer_schema_length=None)
        return self.rows.columns

    def _made(self, flows: pl.DataFrame, note: str) -> list[str]:
        """Goes on with flows that were made of what the file holds."""
        self.kind, self.rows = "made", flows
        self.notes.append(note)
        return flows.columns

    def load(self, names: Sequence[str]) -> None:
        """Reads these columns."""
        import polars as pl

        names = list(dict.fromkeys(names))
        with self._one_error():
            if self.kind == "text":
                self.rows = self._text().select(names)
            elif self.kind == "parquet":
                self.rows = pl.read_parquet(self._bytes(), columns=names)
            else:
                self.rows = self.rows.select(names)
            self.rows = pl.DataFrame([self._plain(self.rows[name]) for name in names])
        self.kept = pl.DataFrame({"row": pl.int_range(len(self.rows), eager=True)})
        if self.kind == "text":  # Empty lines are no rows.
            self.keep(~self.rows.select(pl.all_horizontal(pl.all().is_null())).to_series())

    def _plain(self, column: pl.Series) -> pl.Series:
        """A column of numbers, text or times; Parquet and JSON have more."""
        import polars as pl

        kind = column.dtype
        if kind in (pl.Categorical, pl.Enum):
            return column.cast(pl.String)
        if kind.is_decimal():
            return column.cast(pl.Float64)
        plain = (pl.String, pl.Boolean, pl.Null, pl.Date, pl.Datetime)
        if not kind.is_numeric() and kind not in plain:
            message = f"column {column.name}: is neither numbers nor text nor times, but {kind}"
            raise SpecError(str(self.file), message)
        if isinstance(kind, pl.Datetime):
            last = (column.to_physical() // SECOND[kind.time_unit]).abs().max()
            if isinstance(last, int) and last >= FAR_S:
                raise SpecError(
                    str(self.file), f"column {column.name}: has times that are no times of ours"
                )
        return column

    def keep(
        self,
        rows: pl.Series,
        more: pl.DataFrame | None = None,
        places: pl.DataFrame | None = None,
    ) -> None:
        """Goes on with those rows for which this is true, and with `more` from `places`."""
        import polars as pl

        self.rows, self.kept = self.rows.filter(rows), self.kept.filter(rows)
        if more is not None and places is not None:
            self.rows, self.kept = pl.concat([self.rows, more]), pl.concat([self.kept, places])

    def _text(self, **given: Any) -> pl.DataFrame:
        import polars as pl

        return pl.read_csv(
            self._bytes(),
            separator=self.separator,
            comment_prefix="#",
            infer_schema=False,
            has_header=not self.zeek,
            new_columns=self.zeek or None,
            null_values=["-", "(empty)"] if self.zeek else None,
            **given,
        )

    def place(self, row: int) -> str:
        """Where a row is in the file, for people."""
        row = int(self.kept["row"][row])
        if self.kind != "text":
            return f"row {row + 1}"
        seen = -1 if self.zeek else -2
        for number, line in enumerate(self._lines(), start=1):
            seen += not line.startswith("#")
            if seen == row:
                return f"line {number}"
        return f"row {row + 1}"

    def ragged(self) -> str:
        """Which line has other columns than the first, if one has."""
        count = 0
        for number, line in enumerate(self._lines(), start=1):
            if line and not line.startswith("#"):
                here = len(line.split(self.separator))
                count = count or (len(self.zeek) or here)
                if here != count:
                    return f"line {number} has {here} columns, not {count}"
        return ""


def _nothing() -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame()


def _most_unpacked() -> int:
    """A quarter of what is free, for columns are made of a copy. A few bytes unpack to anything."""
    available = memory.available_bytes()
    return sys.maxsize - 1 if available is None else available // 4
