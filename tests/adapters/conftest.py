"""Homes with short paths and proxies on them, for everything that runs as real processes."""

import shutil
import tempfile
from pathlib import Path

import pytest
from slw.adapters.reach import stop_owner
from wire import Wire


@pytest.fixture
def home():
    """A home whose socket path is short; its owner is gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="slw-"))
    yield place / "h"
    stop_owner(place / "h")
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def wire(home):
    """Starts proxies on this home; each is closed afterwards."""
    started = []

    def start(tools="full", protocol="2025-06-18", name="wire"):
        client = Wire(home, tools)
        started.append(client)
        client.initialize(protocol, name)
        return client

    yield start
    for client in started:
        if client.process.poll() is None:
            client.close()
