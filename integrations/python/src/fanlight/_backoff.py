"""How long a client waits before it connects again."""

from __future__ import annotations

import random

FIRST_MS = 500
LONGEST_MS = 30_000


def wait_ms(attempt: int) -> int:
    """The wait before attempt ``attempt`` (from 1): doubling, of which a random half is left out."""
    whole = min(FIRST_MS << min(max(attempt - 1, 0), 16), LONGEST_MS)
    half = whole // 2
    return half + random.randint(0, half)


def asked_ms(retry_ms: int) -> int:
    """The wait that a hub asked for, with up to the same again at random."""
    retry_ms = min(retry_ms, LONGEST_MS)
    return retry_ms + random.randint(0, retry_ms)


def may_reconnect(code: int) -> bool:
    """Whether a client comes back after a close with this code."""
    return code < 4500
