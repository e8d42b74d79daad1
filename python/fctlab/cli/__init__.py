"""The program `fctlab`: a file per group of commands, and how answers look in a terminal."""

from fctlab.cli.app import app, main

__all__ = ["app", "main"]
