"""Tables that others wrote: whatever polars finds wrong with one is an error of ours.

Of some damaged Parquet polars does not raise an error, it panics. That is raised past ``except
Exception``, and printed before anybody can catch it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from fctlab.errors import SpecError


@contextmanager
def one_error(where: str, says: str = "cannot be read: ") -> Iterator[None]:
    """Turns what goes wrong in the block into an error about a file.

    Args:
        where: the file, or the key that names it.
        says: goes before what polars or the system says.

    Raises:
        SpecError: the file is not what it should be.
    """
    from polars.exceptions import PanicException, PolarsError

    try:
        with _quiet(PanicException):
            yield
    except FileNotFoundError:
        raise SpecError(where, f"{says}no such file") from None
    except PanicException:
        raise SpecError(where, f"{says}it is damaged") from None
    except (PolarsError, OSError) as error:
        said = str(error).splitlines() or [type(error).__name__]
        raise SpecError(where, f"{says}{said[0]}") from None


@contextmanager
def whole(directory: str | os.PathLike[str]) -> Iterator[None]:
    """The same of a result directory, of which a file may be missing.

    Raises:
        SpecError: the directory is not whole.
    """
    with one_error(os.fspath(directory), "is not whole, a file of it cannot be read: "):
        try:
            yield
        except FileNotFoundError as error:
            raise OSError(str(error)) from None


@contextmanager
def _quiet(panic: type[BaseException]) -> Iterator[None]:
    """What is printed in the block comes out after it, and nothing if that ends in a panic."""
    try:
        sys.stderr.flush()
        before = os.dup(2)
    except OSError:  # There is no stderr.
        yield
        return
    panicked = False
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 2)
        try:
            yield
        except panic:
            panicked = True
            raise
        finally:
            sys.stderr.flush()
            os.dup2(before, 2)
            os.close(before)
            printed.seek(0)
            if not panicked:
                os.write(2, printed.read())
