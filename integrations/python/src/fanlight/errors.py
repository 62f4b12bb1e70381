"""What can go wrong, by name."""

from __future__ import annotations


class FanlightError(Exception):
    """Anything that this package raises on its own account."""


class Unreachable(FanlightError):
    """No hub answers there."""


class Refused(FanlightError):
    """The hub does not take it, and would not the next time either. ``code`` is the hub's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Fenced(Refused):
    """A newer life of this publisher is known to the hub: somebody else publishes under its name."""


class Closed(FanlightError):
    """The hub closed for good, or this side did. ``code`` is the close code or the HTTP status, 0 where there is none."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code} {reason}" if code else reason)
        self.code = code


class BufferFull(FanlightError):
    """So much waits for the hub that nothing more is taken."""


class EventTooLarge(FanlightError):
    """One event is larger than what a hub takes."""


class Undelivered(FanlightError):
    """The hub did not have everything when the wait was over; ``count`` events are missing."""

    def __init__(self, count: int, why: str) -> None:
        super().__init__(f"{count} events did not reach the hub: {why}")
        self.count = count
