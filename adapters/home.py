"""The folder of one memory: what lies in it and under which name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..domain.errors import Unavailable
from .reach import Unreachable, claim_home, socket_path


class NotOurHome(Unavailable):
    """The folder cannot be a home: of another user, full of other things, read-only, or its path too long."""

    retryable = False


@dataclass(frozen=True, slots=True)
class Home:
    """Paths inside one home; make one with `Home.at`, which sees that the folder is ours."""

    path: Path

    @classmethod
    def at(cls, path: str | Path) -> Home:
        """The home, its folder made if need be; raises NotOurHome."""
        try:
            return cls(claim_home(path))
        except Unreachable as refused:
            raise NotOurHome(refused.envelope["error"]["message"], hint=refused.envelope["error"]["hint"]) from refused

    @property
    def log(self) -> Path:
        """The only truth."""
        return self.path / "log.db"

    @property
    def embeddings(self) -> Path:
        """Vectors of texts; a cache."""
        return self.path / "embeddings.db"

    @property
    def settings(self) -> Path:
        return self.path / "settings.json"

    @property
    def messages(self) -> Path:
        """What the owner has to say to whoever looks for a cause."""
        return self.path / "slw.log"

    @property
    def socket(self) -> str:
        """Where the owner listens."""
        return socket_path(self.path)
