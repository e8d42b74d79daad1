"""The program `fctlab`: a file per group of commands, and how answers look in a terminal.

What commands need is imported when one is called; the version alone needs nothing of it.
"""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

import fctlab

__all__ = ["main", "version"]


def version() -> str:
    """What ``fctlab --version`` prints."""
    return f"fctlab {fctlab.__version__} ({fctlab._native.build_profile()} build)"


def main() -> NoReturn:
    """Run the program; every error is one line on stderr."""
    if sys.argv[1:] == ["--version"]:
        print(version())
        sys.exit()
    # There is nothing to clean up while a command is loaded: Ctrl-C ends the process there.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from fctlab.cli.app import main as run

    run()
