"""How any process reaches the owner of a home: find its socket, start it when nobody answers, ask it. Stdlib only."""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import json
import os
import secrets
import select
import socket
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# Stands here because the proxy cannot import anything that knows; a test compares it with pyproject.toml.
VERSION = "0.1.0"

# sun_path holds 108 bytes with its final NUL on Linux, 104 on macOS; bind() on a longer one fails obscurely.
SOCKET_PATH_BYTES = 100
START_SECONDS = 40.0  # an owner may have to wait 30 s for a locked log before it can say so
ANSWER_SECONDS = 90.0
POLL_SECONDS = 0.02
ATTEMPTS = 3
REPORT = "slw-owner:"  # what the line begins with in which a starting owner says how it went

# One of these makes a folder ours; others may lie beside them.
MARKS = ("log.db", "owner.lock", "slw.log", "settings.json", "kinds.json", "CURRENT")


class Unreachable(Exception):
    """Nobody can answer for this home; `envelope` is the failure as every surface shows it."""

    def __init__(self, message: str, hint: str, *, retryable: bool = True) -> None:
        super().__init__(message)
        self.envelope: dict[str, Any] = {
            "ok": False,
            "error": {"code": "unavailable", "message": message, "retryable": retryable, "hint": hint},
        }


class Failed(Unreachable):
    """The owner started and said why it cannot serve."""

    def __init__(self, envelope: dict[str, Any]) -> None:
        super().__init__(envelope["error"]["message"], envelope["error"].get("hint", ""))
        self.envelope = envelope


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the owner's socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


# ---------------------------------------------------------------- the home


def resolved(home: str | Path) -> Path:
    """One home, one spelling: so two ways to write it lead to one socket."""
    return Path(os.path.realpath(Path(home).expanduser()))


def socket_path(home: str | Path, longest: int = SOCKET_PATH_BYTES) -> str:
    """Where the owner of this home listens: in the home, or in a short private folder when its path is too long."""
    inside = resolved(home) / "owner.sock"
    if len(os.fsencode(inside)) <= longest:
        return str(inside)
    name = hashlib.sha256(os.fsencode(resolved(home))).hexdigest()[:20] + ".sock"
    for folder in (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"):  # noqa: S108 - checked below
        short = Path(folder) / f"slw-{os.getuid()}" / name
        if folder and len(os.fsencode(short)) <= longest:
            private_folder(short.parent)
            return str(short)
    raise Unreachable(
        f"the path of {resolved(home)} is too long for a unix socket, and so is the folder for temporary files",
        "choose a home with a shorter path with --home or SLW_HOME",
        retryable=False,
    )


def private_folder(folder: Path) -> None:
    """Make the folder, or see that the one there is ours alone: others could otherwise take the socket's place."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as fault:
        raise Unreachable(f"{folder} cannot be used: {fault.strerror}", "set XDG_RUNTIME_DIR or TMPDIR") from fault
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise Unreachable(
            f"{folder} belongs to someone else, or others may write in it",
            f"remove it, or chmod 700 {folder}",
            retryable=False,
        )


def claim_home(home: str | Path) -> Path:
    """The folder, made if need be; Unreachable when it is not ours, holds other things, or cannot be written."""
    place = resolved(home)
    elsewhere = "choose another folder with --home or SLW_HOME"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = place.stat().st_uid
        names = {entry.name for entry in os.scandir(place) if not entry.name.startswith(".")}
    except FileExistsError:
        raise Unreachable(f"{place} is a file, not a folder", elsewhere, retryable=False) from None
    except OSError as fault:
        raise Unreachable(f"the home {place} cannot be opened: {fault.strerror}", elsewhere, retryable=False) from fault
    if owner != os.getuid():
        raise Unreachable(f"the home {place} belongs to another user", elsewhere, retryable=False)
    if names and not names.intersection(MARKS):
        raise Unreachable(f"{place} holds other things and no memory of slw", elsewhere, retryable=False)
    return place


def take_lease(home: Path) -> int | None:
    """The open, locked owner.lock, or None while another process holds it. The kernel frees it when its holder dies."""
    try:
        fd = os.open(home / "owner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise Unreachable(
            f"the home {home} cannot be written to: {fault.strerror}",
            "check its permissions and whether its disk is full or mounted read-only",
            retryable=False,
        ) from fault
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


# ---------------------------------------------------------------- the owner


def answers(home: str | Path) -> bool:
    """Whether someone listens on the home's socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(socket_path(home))
        except OSError:
            return False
    return True


def ensure_owner(home: str | Path) -> None:
    """Return when an owner listens; starts one if there is none, and replaces one of an older version.

    Whoever gets the lease starts the owner and hands the lease on to it, so there is never a second one.
    """
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if answers(home):
            return
        place = claim_home(home)
        lease = take_lease(place)
        if lease is not None:
            try:
                start_owner(place, lease)
            finally:
                os.close(lease)
            return
        time.sleep(POLL_SECONDS)
    raise Unreachable("the owner of this home is starting or stopping and does not answer", "send the call again")


def start_owner(home: Path, lease: int) -> None:
    """Start a detached owner under this lease, and wait until it says that it listens or why it cannot."""
    import subprocess  # noqa: PLC0415 - most proxies find an owner and never need it

    started = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", "slw.adapters.owner", "--home", str(home), "--lease", str(lease)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        start_new_session=True,
        pass_fds=[lease],
    )
    assert started.stdout is not None  # noqa: S101 - asked for above
    with started.stdout as said:
        heard = b""
        deadline = time.monotonic() + START_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([said], [], [], left)[0]:
                break
            chunk = os.read(said.fileno(), 65536)
            heard += chunk
            for line in heard.decode(errors="replace").splitlines(keepends=True):
                if line.startswith(REPORT) and line.endswith("\n"):
                    report = json.loads(line.removeprefix(REPORT))
                    if report["ok"]:
                        return
                    raise Failed(report)
            if not chunk:
                break
    last = (heard.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
    raise Unreachable(f"the owner did not start: {last[:300]}", "slw doctor looks for the cause; slw.log has the rest")


def exchange(
    home: str | Path, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    """Status and body of one request to the owner, which is started if need be.

    When the owner dies under the request it is sent again with the same request id, so it happens once.
    """
    sent = {"X-Slw-Request-Id": secrets.token_hex(16), "X-Slw-Proxy": VERSION, **(headers or {})}
    for _ in range(ATTEMPTS):
        ensure_owner(home)
        connection = UnixConnection(socket_path(home), ANSWER_SECONDS)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except TimeoutError:
            raise Unreachable("the owner does not answer", "send the call again; `slw serve stop` ends it") from None
        except (OSError, http.client.HTTPException):
            continue
        finally:
            connection.close()
    raise Unreachable("the owner stopped while it was answering", "send the call again")


def hand_over(home: str | Path) -> None:
    """Ask an owner of an older version to finish and go; the next call then starts a new one."""
    _, body = exchange(home, "GET", "/health")
    if as_numbers(json.loads(body).get("version", "0")) < as_numbers(VERSION):
        exchange(home, "POST", "/drain")
        deadline = time.monotonic() + START_SECONDS
        while answers(home) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)


def as_numbers(version: str) -> tuple[int, ...]:
    """A version to compare: `0.10.1` is newer than `0.9`."""
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("."))


def post(
    home: str | Path, operation: str, body: dict[str, Any], headers: dict[str, str] | None = None
) -> dict[str, Any]:
    """The envelope that the owner answers to one operation of /api, as a person asks it."""
    path = operation if operation.startswith("/") else f"/api/{operation}"
    sent = {"Content-Type": "application/json", "X-Slw-Client": f"slw/{VERSION}", **(headers or {})}
    try:
        _, answer = exchange(home, "POST", path, json.dumps(body).encode(), sent)
        return json.loads(answer)
    except Unreachable as gone:
        return gone.envelope
    except ValueError:
        return Unreachable("the owner's answer is no JSON", "slw serve stop, then try again").envelope


def stop_owner(home: str | Path) -> bool:
    """Ask the owner to finish and go, and wait until it is gone; False when none was there."""
    if not answers(home):
        return False
    connection = UnixConnection(socket_path(home), ANSWER_SECONDS)
    try:
        connection.request("POST", "/drain")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        pass  # gone already, which is what was asked for
    finally:
        connection.close()
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        lease = take_lease(resolved(home))
        if lease is not None:
            os.close(lease)
            return True
        time.sleep(POLL_SECONDS)
    raise Unreachable("the owner does not stop", "it may be finishing a long write; try again in a moment")
