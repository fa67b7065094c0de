"""Asking a person before something that cannot easily be taken back."""

from __future__ import annotations

import sys

import click

from ..domain.errors import NeedsConfirmation


def confirm(question: str, *, yes: bool) -> None:
    """Go on with `--yes`, or when a person at a terminal says so; otherwise NeedsConfirmation."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise NeedsConfirmation(question, hint="say --yes when that is what you want")
    if not click.confirm(question, err=True):
        raise click.Abort
