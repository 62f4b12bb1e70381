"""The events that a publisher keeps in memory, as the JSON that is sent."""

from __future__ import annotations

from collections import deque
from itertools import islice


class Window:
    """Events by their counts: those that the hub does not have yet, and behind them those that it could forget again."""

    def __init__(self) -> None:
        self._entries: deque[tuple[bytes, int]] = deque()
        self._start = 0
        self.begins_after = 0
        """The event before the first that is kept."""

    def push(self, event: bytes) -> None:
        """Adds the next event."""
        self._entries.append((event, self._end() + len(event) + 1))

    def _end(self) -> int:
        return self._entries[-1][1] if self._entries else self._start

    def kept_bytes(self) -> int:
        """Bytes of all that is kept, with a comma for each."""
        return self._end() - self._start

    def bytes_after(self, event: int) -> int:
        """Bytes of the events after ``event``."""
        index = event - self.begins_after - 1
        if index < 0:
            return self.kept_bytes()
        return self._end() - self._entries[index][1] if index < len(self._entries) else 0

    def after(self, event: int, count_max: int, bytes_max: int) -> list[bytes]:
        """The events after ``event``: one at least if there is one, then as many as fit."""
        taken: list[bytes] = []
        left = bytes_max
        skipped = max(event - self.begins_after, 0)
        for entry, _ in islice(self._entries, skipped, skipped + count_max):
            left -= len(entry) + 1
            if taken and left < 0:
                break
            taken.append(entry)
        return taken

    def drop_to(self, event: int) -> None:
        """Drops the events up to ``event``."""
        while self.begins_after < event and self._entries:
            self._start = self._entries.popleft()[1]
            self.begins_after += 1

    def shrink(self, bytes_max: int, event: int) -> None:
        """Drops events up to ``event``, the oldest first, as long as more than ``bytes_max`` are kept."""
        while self.kept_bytes() > bytes_max and self.begins_after < event and self._entries:
            self.drop_to(self.begins_after + 1)
