"""The owner: the one process per home that opens its read models, and serves everyone over a unix socket."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import logging.handlers
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..domain.errors import SlwError, Unavailable
from .home import Home
from .reach import REPORT, VERSION, Unreachable, take_lease
from .settings import Settings, read_settings

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Receive, Scope, Send

    from .store import Store

log = logging.getLogger("slw")

DRAIN_SECONDS = 35  # longer than an append may wait for a locked log
LOOK_SECONDS = 10.0  # how often an owner looks whether it is still needed
LOG_BYTES = 5 * 1024 * 1024


class Attendance:
    """Who is being served, and when the last one was: ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.serving = 0
        self.last = time.monotonic()
        self.served = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self.serving += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.serving -= 1
            if scope["path"] not in ("/health", "/drain"):
                self.last = time.monotonic()
                self.served.set()

    def idle_for(self) -> float:
        """Seconds since the last request was answered; 0 while one is served."""
        return 0.0 if self.serving else time.monotonic() - self.last


class Service:
    """One store, served until asked to stop or left alone for long enough."""

    def __init__(self, store: Store, settings: Settings) -> None:
        import uvicorn  # noqa: PLC0415 - the lease and the socket come before a second of imports

        self.store = store
        self.settings = settings
        self.socket = Path(store.home.socket)
        self.attendance = Attendance(self.app())
        self.server = uvicorn.Server(
            uvicorn.Config(
                self.attendance,
                log_config=None,
                access_log=False,
                lifespan="on",
                timeout_graceful_shutdown=DRAIN_SECONDS,
            )
        )

    def app(self) -> Starlette:
        """The routes: /mcp by the SDK, /api, and what a proxy asks about the owner itself."""
        from starlette.applications import Starlette  # noqa: PLC0415 - as above
        from starlette.responses import JSONResponse  # noqa: PLC0415 - as above
        from starlette.routing import Route  # noqa: PLC0415 - as above

        from .api import api_routes  # noqa: PLC0415 - as above
        from .catalogue import OPERATIONS  # noqa: PLC0415 - as above
        from .kind_routes import kind_routes  # noqa: PLC0415 - as above
        from .tools import mcp_app, mcp_server  # noqa: PLC0415 - as above

        async def health(_: Any) -> JSONResponse:
            position = self.store.memories.position()
            return JSONResponse({"version": VERSION, "pid": os.getpid(), "position": position})

        async def drain(_: Any) -> JSONResponse:
            self.stop()
            return JSONResponse({"draining": True})

        server = mcp_server(self.store, OPERATIONS)
        mcp = mcp_app(server)
        return Starlette(
            routes=[
                *mcp.routes,
                *kind_routes(self.store),
                *api_routes(self.store, OPERATIONS),
                Route("/health", health),
                Route("/drain", drain, methods=["POST"]),
            ],
            lifespan=self.lifespan(server.session_manager.run),
        )

    def lifespan(self, sessions: Callable[[], Any]) -> Callable[[Any], Any]:
        """The SDK's own life, and our timers beside it."""

        @contextlib.asynccontextmanager
        async def life(_: Any) -> AsyncIterator[None]:
            async with sessions():
                timers = [asyncio.create_task(t()) for t in (self.leave_when_idle, self.expire, self.write_behind)]
                try:
                    yield
                finally:
                    for timer in timers:
                        timer.cancel()
                    await asyncio.gather(*timers, return_exceptions=True)

        return life

    def stop(self) -> None:
        """Take no more requests, finish those at hand, and go."""
        self.server.should_exit = True

    async def serve(self, listening: socket.socket) -> None:
        """Serve until stopped."""
        # uvicorn raises the signal that stopped it once more when it is done; then there is a store to close.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        await self.server.serve(sockets=[listening])

    def reachable(self) -> bool:
        """Whether anyone can still find the way here."""
        return self.socket.exists()

    # -- timers

    async def leave_when_idle(self) -> None:
        """Go when nobody asked anything for long, but not while a run is active; and when nobody can ask any more."""
        limit = self.settings.idle_exit_seconds
        while True:
            await asyncio.sleep(min(LOOK_SECONDS, max(0.2, limit - self.attendance.idle_for())))
            if not self.reachable():
                log.warning("the socket is gone, so the home was removed or moved: leaving")
            elif self.attendance.idle_for() >= limit and not self.store.busy:
                log.info("nobody asked for %.0f s: leaving", limit)
            else:
                continue
            self.stop()
            return

    async def expire(self) -> None:
        """Close sessions that nobody names any more; first after the request that woke the owner."""
        await self.attendance.served.wait()
        while True:
            await self.quietly(self.store.expire_idle)
            await asyncio.sleep(self.settings.expiry_check_seconds)

    async def write_behind(self) -> None:
        """Keep the read models on disk close behind the log."""
        while True:
            await asyncio.sleep(self.settings.flush_seconds)
            await self.quietly(self.store.flush_if_due)

    async def quietly(self, work: Callable[[], Any]) -> None:
        """Something nobody waits for: what goes wrong is in slw.log, and it is tried again at the next tick."""
        try:
            await asyncio.to_thread(work)
        except SlwError as refused:
            log.warning("%s: %s (%s)", refused.code, refused.message, refused.hint)
        except Exception:
            log.exception("a task of the owner failed")


def serve(home: Home, lease: int, ready: Callable[[], None]) -> None:
    """Serve the home under a lease that is held already; `ready()` is called when everyone can connect.

    Raises SlwError when the home cannot be served.
    """
    settings = read_settings(home.settings)
    for problem in settings.problems:
        log.warning(problem)
    listening = listen(home.socket)
    try:
        from .store import Store  # noqa: PLC0415 - whoever connects now waits for these imports instead of polling

        store = Store.open(home, settings=settings)
        try:
            service = Service(store, settings)
            ready()
            log.info("slw %s serves %s as process %d", VERSION, home.path, os.getpid())
            asyncio.run(service.serve(listening))
        finally:
            store.close()
    finally:
        listening.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(home.socket)  # noqa: PTH108 - a socket's name, not a path of ours to reason about
        os.close(lease)  # last: whoever waits for it finds everything closed
    log.info("gone")


def listen(path: str) -> socket.socket:
    """A listening socket at this path, for this user alone. The lease is held, so one that lies there is dead."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108 - as above
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(path)  # under umask 077 it is born 0600
        listening.listen(512)
    except OSError as fault:
        listening.close()
        raise Unavailable(
            f"cannot listen at {path}: {fault.strerror}", hint="check the folder's permissions"
        ) from fault
    return listening


def main() -> None:
    """`python -m slw.adapters.owner --home DIR [--lease FD] [--foreground]`."""
    parser = argparse.ArgumentParser(prog="slw serve")
    parser.add_argument("--home", required=True)
    parser.add_argument("--lease", type=int, help="a descriptor of owner.lock that is locked already")
    parser.add_argument("--foreground", action="store_true", help="log to stderr too, and stay on the terminal")
    chosen = parser.parse_args()
    os.umask(0o077)
    report = Report(foreground=chosen.foreground)
    try:
        home = Home.at(chosen.home)
        lease = chosen.lease if chosen.lease is not None else take_lease(home.path)
        if lease is None:
            raise Unavailable("another owner serves this home", hint="slw serve stop ends it")
        os.set_inheritable(lease, False)  # noqa: FBT003 - its own signature
        begin_log(home, foreground=chosen.foreground)
        serve(home, lease, lambda: report.say({"ok": True, "data": {"pid": os.getpid(), "version": VERSION}}))
    except SlwError as refused:
        report.fail(refused.envelope())
    except Unreachable as refused:
        report.fail(refused.envelope)
    except OSError as fault:
        hint = "check the home's permissions, and whether its disk is full"
        report.fail(Unavailable(f"the owner cannot start: {fault}", hint=hint).envelope())


class Report:
    """The one line in which the owner tells whoever started it how that went."""

    def __init__(self, *, foreground: bool) -> None:
        self.foreground = foreground
        self.told = False

    def say(self, envelope: dict[str, Any]) -> None:
        """Tell it, and let go of the pipe: a detached owner writes to slw.log from here on."""
        self.told = True
        if self.foreground:
            return
        os.write(1, f"{REPORT}{json.dumps(envelope)}\n".encode())
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (1, 2):
            os.dup2(nowhere, number)
        os.close(nowhere)

    def fail(self, envelope: dict[str, Any]) -> None:
        """Tell why there is no owner, and leave."""
        error = envelope["error"]
        log.error("%s: %s", error["message"], error["hint"])
        if self.foreground:
            print(f"{error['message']}\n{error['hint']}", file=sys.stderr)  # noqa: T201 - a person reads it
        elif not self.told:
            self.say(envelope)
        sys.exit(5 if error["retryable"] else 4)


def begin_log(home: Home, *, foreground: bool) -> None:
    """Send what we log to slw.log, and to the terminal when someone sits there."""
    handlers: list[logging.Handler] = [
        logging.handlers.RotatingFileHandler(home.messages, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
    ]
    if foreground:
        handlers.append(logging.StreamHandler(sys.stderr))
    for handler in handlers:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=handlers, force=True)
    log.setLevel(logging.INFO)


if __name__ == "__main__":
    main()
