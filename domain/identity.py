"""Ids and keys: made once, in the command, and then only read from the log."""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from datetime import datetime

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str, at: datetime) -> str:
    """A fresh id such as `mem_01k…`: 10 characters of time (ms), then 80 random bits; sorts by time."""
    number = (int(at.timestamp() * 1000) << 80) | secrets.randbits(80)
    return f"{prefix}_" + "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def normalised(text: str) -> str:
    """Text as two tellings of one claim are compared: NFC, one space between words, case folded."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def claim_key(scope: str, content: str) -> str:
    """The key that a live claim holds: equal for the same words in the same scope, 64 hex digits."""
    return hashlib.sha256(f"{scope}\0{normalised(content)}".encode()).hexdigest()


def scope_twin(scope: str) -> str:
    """Scopes with equal twins are probably one scope written in two ways (case, `-`, `_`, space, `.git`)."""
    folded = unicodedata.normalize("NFC", scope).casefold().strip().removesuffix(".git")
    return folded.replace("-", "").replace("_", "").replace(" ", "")
