"""The program ``fctlab``.

Tables for people on stdout, or with ``--json`` one JSON object and nothing else.
Progress and errors go to stderr. Exit codes: 0, 2 for anything wrong with the input or
the output directory, 130 after Ctrl-C, 1 for a bug in fctlab.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperCommand, TyperGroup

import fctlab
from fctlab import cli
from fctlab.cli.terminal import say, say_warnings
from fctlab.errors import InternalError, OutputError, SpecError

PARTS = {
    "init": ("init",),
    "run": ("run", "compare"),
    "sweep": ("sweep", "store"),
    "trace": ("trace",),
    "testbed": ("testbed",),
    "slo": ("predict", "plan", "provision", "whatif", "calibrate"),
    "fabric": ("fabric",),
    "fit": ("fit",),
    "export": ("export",),
    "host": ("host",),
    "tuning": ("mapping", "thresholds"),
    "study": ("study", "claims"),
    "theory": ("bigswitch",),
    "report": ("report",),
    "plot": ("plot",),
    "summary": ("summary",),
    "catalog": ("list", "schema"),
    "bench": ("bench",),
}
"""Each module of commands, and what they are called, as the help lists them."""


class _Commands(Mapping[str, Any]):
    """The commands by name. A module is imported when one of its commands is asked for."""

    def __init__(self) -> None:
        self._parts = {name: part for part, names in PARTS.items() for name in names}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            part = typer.Typer()
            import_module(f"fctlab.cli.{self._parts[name]}").register(part)
            _with_options(part)
            self._loaded |= typer.main.get_group(part).commands
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Inside, Ctrl-C and SIGTERM raise, so that nothing is left half; what ignores them goes on."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {n: handler for n, handler in before.items() if handler is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Group(TyperGroup):
    """Knows its commands by name, and says what Ctrl-C left behind.

    Typer would turn that into a bare exit code.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = cast("Any", _Commands())  # nothing is added to it

    def invoke(self, ctx: Any) -> Any:
        try:
            with _interruptible():
                return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            say(f"interrupted: {str(interrupt) or 'nothing was kept'}")
            raise typer.Exit(130) from None


class _Command(TyperCommand):
    """Says ``--most-flows`` where the library says ``most_flows``."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except SpecError as error:
            options = {param.name: param.opts[0] for param in self.params}
            from fctlab import files

            given = ctx.get_parameter_source(error.path)
            # A key of a file may be called as an option is.
            if given is not None and given.name == "COMMANDLINE":
                raise SpecError(options[error.path], error.message) from None
            if error.written == files.SET and "sets" in options:
                raise SpecError(error.path, error.message, f"{options['sets']} ") from None
            raise
        except OutputError as error:
            from fctlab.results import store

            raise OutputError(str(error).replace(store.FORCE, "--force")) from None


def _with_options(typer_: typer.Typer) -> None:
    """Makes all commands of a program such ones."""
    for command in typer_.registered_commands:
        command.cls = _Command
    for inner in typer_.registered_groups:
        if inner.typer_instance is not None:
            _with_options(inner.typer_instance)


app = typer.Typer(
    cls=_Group,
    help="How should a datacenter network schedule flows so that they finish soon and on time?",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(cli.version())
        raise typer.Exit


def main() -> NoReturn:
    """Run the program; every error is one line on stderr."""
    say_warnings()
    try:
        code = app(standalone_mode=False) or 0
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + signal.SIGPIPE
    except (SpecError, OSError) as error:
        code = _fail(str(error), 2)
    except typer.TyperException as error:
        # Without arguments the help has been shown, and there is nothing more to say.
        message = error.format_message()
        code = _fail(message, error.exit_code) if message.strip() else 0
    except MemoryError as error:
        code = _fail(" ".join(["there is not enough memory", *map(str, error.args)]), 2)
    except InternalError as error:
        code = _fail(f"bug in fctlab {fctlab.__version__}, please report it: {error}", 1)
    sys.exit(code)


def _fail(message: str, code: int) -> int:
    say("error: " + " ".join(message.split()))
    return code
