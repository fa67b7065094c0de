"""A home of its own, and `slw` as a person runs it: a real process, its exit code, stdout and stderr."""

import contextlib
import os
import pty
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

SLW = [sys.executable, "-m", "slw.cli.main"]


def environment(home, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLW_")}
    return {**kept, "SLW_HOME": str(home), "OMP_NUM_THREADS": "1", "COLUMNS": "100", **more}


def slw_in(home):
    """A function that runs one command line against a home."""

    def run(*words, stdin="", cwd=None, **more):
        return subprocess.run(
            [*SLW, *words],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=cwd or home,
            env=environment(home, **more),
            timeout=60,
            check=False,
        )

    return run


def on_a_terminal(home, *words, timeout=60, **more):
    """What a person sees: stdout is a terminal. A command without end is interrupted at the time-out."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [*SLW, *words], stdout=terminal, stderr=subprocess.DEVNULL, env=environment(home, TERM="xterm", **more)
    )
    os.close(terminal)
    watch = threading.Timer(timeout, process.terminate)
    watch.start()
    seen = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody writes to it any more
        while chunk := os.read(controller, 65536):
            seen += chunk
    watch.cancel()
    process.wait()
    os.close(controller)
    return seen.decode()


@pytest.fixture
def home():
    # Short on purpose: a socket's path has 107 bytes, and pytest's own directories may use them up.
    with tempfile.TemporaryDirectory(prefix="slw-", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture
def slw(home):
    """`slw` where nothing needs an owner."""
    return slw_in(home)


@pytest.fixture(scope="module")
def store():
    """`slw` with a store and its owner, shared by the tests of one file."""
    with tempfile.TemporaryDirectory(prefix="slw-", ignore_cleanup_errors=True) as name:
        run = slw_in(Path(name))
        yield run
        run("serve", "stop")
