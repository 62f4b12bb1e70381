"""Publishing, each event exactly once, through the loss of the network and of the hub.

A publisher numbers its events, keeps those that the hub does not have yet, and sends them again where it must. It takes no
more than it may keep: ``publish`` then waits, ``offer`` raises ``BufferFull``. What a hub has acked at ``memory`` it forgets
when it dies; as long as there is room that is kept too, and a hub that comes back empty-handed is told everything again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

from . import _backoff, _http
from ._address import Address
from ._ledger import Ledger
from ._link import Link, Lost
from ._signal import Signal
from ._window import Window
from .errors import BufferFull, Closed, EventTooLarge, FanlightError, Fenced, Refused, Undelivered
from .position import Position
from .types import Event

Durability = Literal["memory", "stored", "synced", "replicated"]
"""What an ack means: gone when the hub dies, survives that, the loss of power, the loss of the database's machine."""

WAITING_BYTES_MAX = 4 << 20
"""Most bytes of events, as JSON, that wait for their acks."""
KEPT_BYTES_MAX = 16 << 20
"""Most bytes of events that are kept, acked or not."""
EVENT_BYTES_MAX = 15 << 20
"""Largest event that a hub takes."""
LINGER_S = 30.0
"""How long the end of ``async with`` waits for the hub."""
FRAME_BYTES_TARGET = 256 << 10
FRAME_HEAD_BYTES = 4 << 10
PASSING = frozenset({"too_many", "shutting_down", "elsewhere", "log_failed", "internal", "publisher_gap"})
"""Refusals that may be none the next time."""

log = logging.getLogger("fanlight")


@dataclass(frozen=True)
class Standing:
    """How far a publisher has come."""

    offered: int
    """Events that were taken."""
    acked: int
    """Events that the hub has."""
    missing: int
    """Events that a hub forgot and could not be told again."""
    position: Position | None
    """Where the conversation stood at the newest ack."""


@dataclass(frozen=True)
class News:
    """What happens on the way: ``connected``, ``lost`` (with ``why`` and ``retry_ms``), ``forgotten`` (``missing`` events)."""

    what: Literal["connected", "lost", "forgotten"]
    why: str = ""
    retry_ms: int = 0
    missing: int = 0


def encode(event: Event | Mapping[str, Any]) -> bytes:
    """An event as it is sent, with the time at which it happened. Raises ``EventTooLarge``, or what ``json`` raises."""
    if "at" not in event and "producer_at" not in event:
        event = {**event, "at": time.time_ns() // 1_000_000}
    text = json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    encoded = text.encode("utf-8", "replace")
    if len(encoded) > EVENT_BYTES_MAX:
        raise EventTooLarge(f"an event of {len(encoded)} bytes, more than the {EVENT_BYTES_MAX} that fit")
    return encoded


class Publisher:
    """Publishes into one conversation. Use it as ``async with``; the end of the block waits until the hub has everything.

    ``publisher`` is a name that nobody else uses at the same time; without it one is made up. ``life`` must be higher than
    all lives that the name had before, and is the time of day where it is left out. ``durability`` is what an ack must
    mean; without it, the best that the hub's log offers without waiting for the disk itself.
    """

    def __init__(
        self,
        conversation: str,
        *,
        url: str | None = None,
        token: str | None = None,
        publisher: str | None = None,
        life: int | None = None,
        durability: Durability | None = None,
        waiting_bytes_max: int = WAITING_BYTES_MAX,
        kept_bytes_max: int = KEPT_BYTES_MAX,
        linger: float | None = LINGER_S,
        on_news: Callable[[News], None] | None = None,
    ) -> None:
        self.conversation = conversation
        self.name = publisher or f"py-{secrets.token_hex(8)}"
        self._address = Address.of(url, token)
        self._durability = durability
        self._waiting_bytes_max = waiting_bytes_max
        self._kept_bytes_max = max(kept_bytes_max, waiting_bytes_max)
        self._linger = linger
        self._on_news = on_news
        self._ledger = Ledger(life=life or (time.time_ns() // 1_000_000 if publisher else 1))
        self._window = Window()
        self._position: Position | None = None
        self._attempt = 0
        self._why = "no connection yet"
        self._failure: FanlightError | None = None
        self._task: asyncio.Task[None] | None = None
        self._changed = Signal()
        self._hurry = Signal()

    async def __aenter__(self) -> Publisher:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # An agent that failed is not to wait for long on top of that.
            await self.flush(self._linger if error is None else min(self._linger or 1.0, 1.0))
        except FanlightError:
            if error is None:
                raise
        finally:
            await self.stop()

    @property
    def standing(self) -> Standing:
        """How far it has come."""
        ledger = self._ledger
        return Standing(ledger.offered, ledger.acked, ledger.missing, self._position)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the events that wait for their acks."""
        return self._window.bytes_after(self._ledger.acked)

    def start(self) -> None:
        """Begins to connect, on the running loop."""
        if self._task is None and self._failure is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name=f"fanlight {self.conversation}")

    async def publish(self, *events: Event) -> None:
        """Takes events, all at once; waits as long as there is no room, and has then taken none of them. Raises why the
        hub does not take them, where that is so."""
        encoded = [encode(event) for event in events]
        await self.room()
        for event in encoded:
            self._push(event)

    async def room(self) -> None:
        """Waits until there is room."""
        while not self._has_room():
            await self._changed.wait()

    def offer(self, *events: Event) -> None:
        """The same without waiting: raises ``BufferFull`` where there is no room, and has then taken none of them."""
        encoded = [encode(event) for event in events]
        self.check_room()
        for event in encoded:
            self._push(event)

    def check_room(self) -> None:
        """Raises ``BufferFull`` where there is no room."""
        if not self._has_room():
            raise BufferFull(f"{self.waiting_bytes} bytes wait for {self._address.url} ({self._why})")

    def push_encoded(self, event: bytes) -> None:
        """Takes what ``encode`` made, whether there is room or not."""
        self._push(event)

    async def flush(self, timeout: float | None = None) -> Standing:
        """Waits until the hub has everything. Raises ``Undelivered`` when the time is over before."""
        if self._ledger.offered == 0:
            return self.standing
        end = None if timeout is None else asyncio.get_running_loop().time() + timeout
        self._attempt = 0
        self._hurry.notify()
        while not self._ledger.is_done():
            self._fail()
            left = None if end is None else end - asyncio.get_running_loop().time()
            if left is not None and left <= 0:
                raise Undelivered(self._ledger.offered - self._ledger.acked, self._why)
            await self._changed.wait(left)
        return self.standing

    async def stop(self) -> None:
        """Lets go of the connection. What the hub does not have is lost."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._failure = self._failure or Closed(0, "the publisher was stopped")
        self._changed.notify()

    def disown(self) -> None:
        """Takes nothing any more: another process publishes under this name."""
        self._failure = Closed(0, f"the publisher {self.name} belongs to the process that made it")

    def _fail(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _has_room(self) -> bool:
        self._fail()
        return self.waiting_bytes < self._waiting_bytes_max

    def _push(self, event: bytes) -> None:
        self._window.push(event)
        self._ledger.offer(1)
        self._trim()
        self._changed.notify()

    def _trim(self) -> None:
        self._window.shrink(self._kept_bytes_max, self._ledger.acked)
        self._ledger.forget(self._window.begins_after)

    def _tell(self, news: News) -> None:
        log.debug("publisher %s: %s", self.name, news)
        if self._on_news is not None:
            try:
                self._on_news(news)
            except Exception:
                log.exception("on_news failed")

    async def _run(self) -> None:
        try:
            while True:
                try:
                    link = await Link.open(self._address)
                    self._ledger.connected()
                    self._tell(News("connected"))
                    try:
                        await self._converse(link)
                    finally:
                        link.abort()
                except Lost as lost:
                    await self._wait_after(lost)
        except FanlightError as failure:
            self._failure = failure
        except Exception as error:
            log.exception("publisher %s failed", self.name)
            self._failure = Closed(0, f"{type(error).__name__}: {error}")
        finally:
            self._ledger.lost()
            self._changed.notify()

    async def _wait_after(self, lost: Lost) -> None:
        self._ledger.lost()
        self._why = str(lost)
        self._attempt += 1
        asked = lost.retry_ms
        retry_ms = _backoff.wait_ms(self._attempt) if asked is None else _backoff.asked_ms(asked)
        self._tell(News("lost", why=self._why, retry_ms=retry_ms))
        self._changed.notify()
        # Whoever waits for the end does not wait for the next attempt too.
        await self._hurry.wait(retry_ms / 1000)

    async def _converse(self, link: Link) -> None:
        tasks = [asyncio.ensure_future(self._speak(link)), asyncio.ensure_future(self._hear(link))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _speak(self, link: Link) -> None:
        room = max(link.frame_bytes_max - FRAME_HEAD_BYTES, 1)
        while True:
            if not self._ledger.is_due():
                await self._changed.wait()
                continue
            events: list[bytes] = []
            if not self._ledger.asks():
                events = self._window.after(self._ledger.sent, link.events_max, min(FRAME_BYTES_TARGET, room))
            if len(events) == 1 and len(events[0]) > room:
                if self._ledger.has_flights():
                    await self._changed.wait()
                else:
                    await self._request(events[0])
                continue
            await link.send(self._frame(events))

    def _frame(self, events: list[bytes]) -> str:
        numbers = self._ledger.send(len(events))
        head: dict[str, Any] = {"t": "pub", "id": numbers.id, "conv": self.conversation, "pid": self.name}
        head |= {"pepoch": numbers.life, "pfirst": numbers.first, "pseq": numbers.last}
        if self._durability is not None:
            head["durability"] = self._durability
        text = json.dumps(head, ensure_ascii=False)
        return f'{text[:-1]},"events":[{b",".join(events).decode()}]}}'

    async def _request(self, event: bytes) -> None:
        """Publishes one event over HTTP, which takes larger ones."""
        numbers = self._ledger.send(1)
        claim = f"{self.name}/{numbers.life}/{numbers.first}-{numbers.last}"
        headers = {"Content-Type": "application/json", "Fanlight-Publisher": claim}
        if self._durability is not None:
            headers["Fanlight-Durability"] = self._durability
        path = self._address.path("conversations", self.conversation, "events")
        try:
            answer = await _http.post(self._address, path, headers, b"[" + event + b"]")
        except OSError as error:
            raise Lost(str(error)) from error
        if answer.status == 200:
            self._acked(numbers.id, answer.json())
        elif answer.status in (408, 409, 429) or answer.status >= 500:
            # A gap shows again over the socket, which says what is expected.
            raise Lost(answer.problem())
        else:
            raise self._refusal(str(answer.json().get("code", answer.status)), answer.problem())

    async def _hear(self, link: Link) -> None:
        while True:
            frame = await link.receive()
            kind = frame.get("t")
            if kind == "ack":
                self._acked(frame["id"], frame)
            elif kind == "error" and "id" in frame:
                self._refused(frame)
            elif kind == "hb":
                await link.send('{"t":"hb_ack","at":{}}')

    def _acked(self, frame: int, said: Mapping[str, Any]) -> None:
        if not self._ledger.ack(frame):
            return
        self._attempt = 0
        place = said.get("position", said)
        self._position = Position(place["epoch"], place["seq"])
        if said.get("durability") in ("stored", "synced", "replicated"):
            self._window.drop_to(self._ledger.acked)
        self._trim()
        self._changed.notify()

    def _refused(self, frame: Mapping[str, Any]) -> None:
        code, message = str(frame.get("code")), str(frame.get("message", ""))
        expected = frame.get("expected")
        if code == "publisher_gap" and expected is not None:
            missing = self._ledger.gap(frame["id"], expected)
            if missing:
                self._tell(News("forgotten", missing=missing))
            self._changed.notify()
        elif code in PASSING:
            raise Lost(f"{code}: {message}")
        else:
            raise self._refusal(code, message)

    def _refusal(self, code: str, message: str) -> Refused:
        return Fenced(code, message) if code == "publisher_fenced" else Refused(code, message)
