"""The same publisher for code that cannot wait: its connection lives on a thread of its own.

``offer`` only takes note and never waits, so it may be called from callbacks, from any thread, and on any event loop.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import weakref
from collections import deque
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from .errors import BufferFull, Closed, FanlightError
from .publisher import LINGER_S, WAITING_BYTES_MAX, Publisher, Standing, encode
from .types import Event

Result = TypeVar("Result")

EXIT_S = 3.0
"""How long the end of the program waits for the hub, where nobody closed the publisher."""

_loop: asyncio.AbstractEventLoop | None = None
_loop_lock = threading.Lock()


def _shared_loop() -> asyncio.AbstractEventLoop:
    """The loop of the one thread that all publishers of this process share."""
    global _loop
    with _loop_lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="fanlight", daemon=True).start()
        return _loop


_open: weakref.WeakSet[SyncPublisher] = weakref.WeakSet()


@atexit.register
def _at_exit() -> None:
    for publisher in list(_open):
        publisher.abandon(EXIT_S)


class SyncPublisher:
    """Publishes into one conversation, each event exactly once. Takes what ``Publisher`` takes.

    Use it as ``with``, or call ``close``; where neither happens, the end of the program waits for the hub for some seconds.
    """

    def __init__(self, conversation: str, **options: Any) -> None:
        self._inbox: deque[bytes] = deque()
        self._inbox_bytes = 0
        self._lock = threading.Lock()
        self._is_closed = False
        self._waiting_bytes_max: int = options.get("waiting_bytes_max", WAITING_BYTES_MAX)
        self._linger: float | None = options.get("linger", LINGER_S)
        self._publisher = Publisher(conversation, **options)
        self._loop = _shared_loop()
        self._loop.call_soon_threadsafe(self._publisher.start)
        _open.add(self)

    def __enter__(self) -> SyncPublisher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abandon(1.0)

    @property
    def conversation(self) -> str:
        """Where it publishes to."""
        return self._publisher.conversation

    @property
    def standing(self) -> Standing:
        """How far it has come."""
        return self._publisher.standing

    def offer(self, *events: Event) -> None:
        """Takes events. Raises ``BufferFull`` where there is no room, and has then taken none of them."""
        encoded = [encode(event) for event in events]
        with self._lock:
            if self._is_closed:
                raise Closed(0, "the publisher is closed")
            self._publisher.check_room()
            if self._inbox_bytes >= self._waiting_bytes_max:
                raise BufferFull(f"{self._inbox_bytes} bytes wait to be sent")
            is_first = not self._inbox
            self._inbox.extend(encoded)
            self._inbox_bytes += sum(map(len, encoded))
        if is_first:
            self._loop.call_soon_threadsafe(self._drain)

    def publish(self, *events: Event, timeout: float | None = None) -> None:
        """The same, but waits for room, which may be long where there is no hub. Not for use on an event loop."""
        encoded = [encode(event) for event in events]
        self._call(self._publish(encoded), timeout)

    def flush(self, timeout: float | None = None) -> Standing:
        """Waits until the hub has everything. Raises ``Undelivered`` when the time is over before."""
        return self._call(self._flush(timeout))

    def close(self, timeout: float | None = None) -> Standing:
        """Waits until the hub has everything, then lets go. Raises ``Undelivered`` when the time is over before."""
        with self._lock:
            already, self._is_closed = self._is_closed, True
        _open.discard(self)
        if already:
            return self.standing
        try:
            return self.flush(self._linger if timeout is None else timeout)
        finally:
            self._call(self._publisher.stop())

    def abandon(self, timeout: float) -> None:
        """The same without raising: what the hub does not have by then is lost."""
        try:
            self.close(timeout)
        except FanlightError:
            # Whoever abandons has a more important end to come to.
            pass

    def _call(self, work: Coroutine[Any, Any, Result], timeout: float | None = None) -> Result:
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result(timeout)
        except TimeoutError as error:
            running.cancel()
            raise BufferFull("there was no room in time") from error

    async def _publish(self, encoded: list[bytes]) -> None:
        self._drain()
        await self._publisher.publish_encoded(encoded)

    async def _flush(self, timeout: float | None) -> Standing:
        self._drain()
        return await self._publisher.flush(timeout)

    def _drain(self) -> None:
        with self._lock:
            taken = list(self._inbox)
            self._inbox.clear()
            self._inbox_bytes = 0
        for event in taken:
            self._publisher.push_encoded(event)
