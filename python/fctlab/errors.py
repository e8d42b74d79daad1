"""What can go wrong, as exceptions that a caller can tell apart."""


class SpecError(ValueError):
    """A mistake in an input, told to the person who wrote it.

    ``str(error)`` reads ``mine.toml:12: traffic.load: 1.3 is not in (0, 1)``.

    Attributes:
        path: where (``"traffic.load"``, a file name, an argument); may be empty.
        message: what was found there and what is allowed.
        written: where that is written, as it is shown before the path: ``"mine.toml:12: "``,
            ``"--set "``, or nothing where the path says all.
    """

    def __init__(self, path: str, message: str, written: str = "") -> None:
        super().__init__(path, message, written)
        self.path = path
        self.message = message
        self.written = written

    def __str__(self) -> str:
        return self.written + (f"{self.path}: {self.message}" if self.path else self.message)


class SpecWarning(UserWarning):
    """Parts of an input that do not meet, or a load that is high; what is asked for is done."""


class OutputError(OSError):
    """A result directory that cannot be written, found out before simulating."""


class InternalError(RuntimeError):
    """A broken invariant of an engine: a bug in fctlab."""
