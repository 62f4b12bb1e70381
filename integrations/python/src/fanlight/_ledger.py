"""Which events the hub has, which are on their way, and what is said next. No I/O.

Events are counted from 1 as they are offered; ``begins_after <= acked <= sent <= offered``::

    1 … begins_after │ … acked │ … sent │ … offered
        given away   │ kept as │ in     │ waits
                     │ long as │ flight │
                     │ there   │
                     │ is room │

The hub's numbers begin at 1 in each life: number ``n`` is event ``base + n``. A hub that has forgotten what it acked says
which number it expects. What is still kept is sent again; where it is not, a new life begins with the first event that is.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

FLIGHTS_MAX = 16
"""Most frames that wait for their acks."""


@dataclass(frozen=True)
class Numbers:
    """A frame, but for its events; ``last`` is ``first - 1`` for a question."""

    id: int
    life: int
    first: int
    last: int


@dataclass
class Ledger:
    """The events of one publisher: which the hub has acked, which are in flight, and which wait."""

    life: int = 1
    base: int = 0
    begins_after: int = 0
    acked: int = 0
    sent: int = 0
    offered: int = 0
    missing: int = 0
    """Events that a hub forgot and could not be told again."""
    _flights: deque[tuple[int, int]] = field(default_factory=deque)
    _next_id: int = 1
    _since_id: int = 1
    _is_up: bool = False
    _asks: bool = False

    def offer(self, count: int) -> None:
        """So many more events are there to be sent."""
        self.offered += count

    def is_done(self) -> bool:
        """Whether the hub has everything."""
        return self.acked == self.offered and not self._flights and self._is_up and not self._asks

    def has_flights(self) -> bool:
        """Whether frames wait for their acks."""
        return bool(self._flights)

    def forget(self, event: int) -> None:
        """Events up to ``event``, which are acked, are not kept any more."""
        self.begins_after = max(self.begins_after, min(event, self.acked))

    def connected(self) -> None:
        """A connection is there. Whoever has told something asks first whether the hub still has it."""
        self._again()
        self._is_up = True
        self._asks = self.acked > self.base

    def lost(self) -> None:
        """The connection is gone, and with it what was in flight."""
        self._again()
        self._is_up = False

    def _again(self) -> None:
        self._flights.clear()
        self._since_id = self._next_id
        self.sent = self.acked

    def is_due(self) -> bool:
        """Whether something is to be sent now."""
        return self._is_up and len(self._flights) < FLIGHTS_MAX and (self._asks or self.sent < self.offered)

    def asks(self) -> bool:
        """Whether what is due is a question: a frame without events."""
        return self._asks

    def send(self, count: int) -> Numbers:
        """What is due is sent now: so many events, none for a question."""
        frame = self._next_id
        self._next_id += 1
        first = self.sent - self.base + 1
        self.sent = min(self.sent + count, self.offered)
        self._asks = False
        self._flights.append((frame, self.sent))
        return Numbers(frame, self.life, first, self.sent - self.base)

    def ack(self, frame: int) -> bool:
        """The hub has the frame and all before it. Says whether that is news."""
        if frame < self._since_id:
            return False
        while self._flights and self._flights[0][0] <= frame:
            self.acked = max(self.acked, self._flights.popleft()[1])
        return True

    def gap(self, frame: int, expected: int) -> int:
        """The hub did not take the frame, since it expects another number. How many events are lost for good by that."""
        if frame < self._since_id:
            return 0
        stands = min(self.base + max(expected - 1, 0), self.offered)
        if stands >= self.begins_after:
            self.acked = stands
            self._again()
            return 0
        missing = self.begins_after - stands
        self.missing += missing
        self.life += 1
        self.base = self.acked = self.begins_after
        self._again()
        return missing
