"""Watching a conversation, through the loss of the network and of the hub, without a hole and without doubles.

Nothing runs in the background: everything happens while the next event is asked for, so who asks slowly is a slow viewer,
as the hub sees it, and there is no queue that could grow.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Literal, cast

from . import _backoff
from ._address import Address
from ._link import Link, Lost
from ._tracker import Outcome, Tracker
from .errors import Refused
from .position import Position
from .types import Agents, Envelope, Snapshot

Level = Literal["critical", "parts", "deltas"]
"""How deep a viewer looks: states and results; the same and each text once it is whole; everything as it comes."""

log = logging.getLogger("fanlight")

_SUB = 1
"""The number of the one subscription of a socket."""


class Subscription:
    """One conversation as it goes on. Iterate over it, over ``events()`` or over ``frames()``, one of them at a time.

    ``have`` is where the viewer stands already (``position`` of an earlier subscription). ``level``, ``agents``, ``kinds`` and
    ``min_interval_ms`` choose less than everything, as docs/protocol.md says.
    """

    def __init__(
        self,
        conversation: str,
        *,
        url: str | None = None,
        token: str | None = None,
        have: Position | str | None = None,
        level: Level = "deltas",
        agents: Agents | None = None,
        kinds: Sequence[str] | None = None,
        min_interval_ms: int = 0,
    ) -> None:
        self.conversation = conversation
        self._address = Address.of(url, token)
        self._tracker = Tracker(checks_texts=level == "deltas" and agents is None and kinds is None)
        self._wish: dict[str, Any] = {}
        if level != "deltas":
            self._wish["level"] = level
        if agents is not None:
            self._wish["agents"] = agents
        if kinds is not None:
            self._wish["kinds"] = list(kinds)
        if min_interval_ms:
            self._wish["min_interval_ms"] = min_interval_ms
        self._handed_out: Position | None = None
        if have is not None:
            self._handed_out = Position.parse(have) if isinstance(have, str) else have
            self._tracker.resume(self._handed_out)
        self._link: Link | None = None
        self._attempt = 0
        self._retry_ms = 0
        self.connections = 0
        """How often it has had a socket."""

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Envelope | Snapshot]:
        return self.events()

    @property
    def position(self) -> Position | None:
        """Everything up to here was handed out, and the next asked for. To be given as ``have`` later."""
        return self._handed_out

    @property
    def is_live(self) -> bool:
        """Whether everything that there was at the beginning has come."""
        return self._tracker.is_live

    async def close(self) -> None:
        """Says good-bye to the hub."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def events(self) -> AsyncIterator[Envelope | Snapshot]:
        """Events as they come. One with ``k`` = ``snapshot`` stands for everything before it: forget, and take its ``state``."""
        async for frame in self.frames():
            kind = frame["t"]
            if kind == "batch":
                for event in frame["ev"]:
                    yield cast(Envelope, event)
            elif kind == "snap" and not frame.get("more"):
                state, self._tracker.state = self._tracker.state, None
                yield cast(Snapshot, {"k": "snapshot", "epoch": frame["epoch"], "seq": frame["seq"], "state": state})

    async def frames(self) -> AsyncIterator[dict[str, Any]]:
        """The hub's frames of this subscription as they came, without those that must not be applied."""
        while True:
            frame = await self._next()
            if frame is not None:
                yield frame
            self._handed_out = self._tracker.position()

    async def _next(self) -> dict[str, Any] | None:
        """The next frame; nothing where there was none for the viewer, or the socket was lost."""
        try:
            if self._link is None:
                await asyncio.sleep(self._retry_ms / 1000)
                link = await Link.open(self._address)
                self.connections += 1
                self._link = link
                await self._subscribe(link)
            return await self._take(self._link, await self._link.receive())
        except Lost as lost:
            self._lost(lost)
            return None

    def _lost(self, lost: Lost) -> None:
        if self._link is not None:
            self._link.abort()
            self._link = None
        self._tracker.disconnected()
        self._attempt += 1
        asked = lost.retry_ms
        self._retry_ms = _backoff.wait_ms(self._attempt) if asked is None else _backoff.asked_ms(asked)
        log.debug("subscription %s: %s, again in %d ms", self.conversation, lost, self._retry_ms)

    async def _subscribe(self, link: Link) -> None:
        frame: dict[str, Any] = {"t": "sub", "sub": _SUB, "conv": self.conversation, **self._wish}
        have = self._tracker.position()
        if have is not None:
            frame["have"] = {"epoch": have.epoch, "seq": have.seq}
        await link.send(json.dumps(frame))

    async def _take(self, link: Link, frame: dict[str, Any]) -> dict[str, Any] | None:
        self._attempt = 0
        kind = frame.get("t")
        if kind == "hb":
            if self._tracker.heartbeat(frame.get("heads", {}).get(str(_SUB))):
                await self._resync(link)
            await link.send(json.dumps({"t": "hb_ack", "at": {str(_SUB): self._tracker.seq}}))
            return None
        if kind == "error":
            if frame.get("code") == "unknown_subscription":
                await self._subscribe(link)
                return None
            raise Refused(str(frame.get("code")), str(frame.get("message", "")))
        if frame.get("sub") != _SUB:
            return frame if kind == "health" else None
        outcome = self._tracker.take(frame)
        if outcome in (Outcome.GAP, Outcome.DRIFT):
            await self._resync(link)
        return None if outcome is Outcome.GAP else frame if self._counts(frame, outcome) else None

    def _counts(self, frame: dict[str, Any], outcome: Outcome) -> bool:
        return outcome is not Outcome.NOTHING or frame.get("t") in ("lag", "presence")

    async def _resync(self, link: Link) -> None:
        await link.send(json.dumps({"t": "resync", "sub": _SUB}))


async def subscribe(conversation: str, **options: Any) -> AsyncIterator[Envelope | Snapshot]:
    """The events of a conversation as they come, for ever. Takes what ``Subscription`` takes."""
    async with Subscription(conversation, **options) as subscription:
        async for event in subscription:
            yield event
