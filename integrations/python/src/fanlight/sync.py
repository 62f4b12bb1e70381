"""The same publisher for code that cannot wait: its connection lives on a thread of its own.

``offer`` only takes note and never waits, so it may be called from callbacks, from any thread, and on any event loop.

A process that is forked off (gunicorn, celery, multiprocessing) has neither that thread nor its connections. A publisher made
before goes on there as a new one, under a name of its own; what waited in it is the parent's to send. One whose name was given
raises ``Closed`` there: a name has one process.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import weakref
from collections import deque
from collections.abc import Coroutine
from concurrent.futures import TimeoutError as Late
from types import TracebackType
from typing import Any, TypeVar

from .errors import BufferFull, Closed, FanlightError, Undelivered
from .publisher import LINGER_S, WAITING_BYTES_MAX, Publisher, Standing, encode
from .types import Event

Result = TypeVar("Result")

EXIT_S = 3.0
"""How long the end of the program waits for the hub, where nobody closed the publisher."""

GRACE_S = 2.0
"""How much longer than asked is waited for the thread that should have said that the time is over."""

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

_inherited: list[object] = []
"""The parent's loop and publishers. They are never let go of: closing what its loop watches would end the watching there too."""


def _after_fork() -> None:
    """This process was forked off: its parent's thread is not in it, and its locks may be held by nobody."""
    global _loop, _loop_lock
    publishers = list(_open)
    _inherited.append(_loop)
    _loop, _loop_lock = None, threading.Lock()
    _open.clear()
    for publisher in publishers:
        _inherited.append(publisher._reborn())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _at_exit() -> None:
    for publisher in list(_open):
        publisher.abandon(EXIT_S)


class _Claim:
    """Of events that are taken on one thread and given up on another, whichever comes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Whether nobody did before."""
        return self._lock.acquire(blocking=False)


class SyncPublisher:
    """Publishes into one conversation, each event exactly once. Takes what ``Publisher`` takes.

    Use it as ``with``, or call ``close``; where neither happens, the end of the program waits for the hub for some seconds.
    """

    def __init__(self, conversation: str, **options: Any) -> None:
        self._inbox: deque[bytes] = deque()
        self._inbox_bytes = 0
        self._lock = threading.Lock()
        self._is_closed = False
        self._conversation, self._options = conversation, options
        self._waiting_bytes_max: int = options.get("waiting_bytes_max", WAITING_BYTES_MAX)
        self._linger: float | None = options.get("linger", LINGER_S)
        self._publisher = Publisher(conversation, **options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running()

    def _running(self) -> asyncio.AbstractEventLoop:
        """The loop that it runs on, begun where it does not yet."""
        with self._lock:
            if self._loop is None:
                self._loop = _shared_loop()
                self._loop.call_soon_threadsafe(self._publisher.start)
                _open.add(self)
            return self._loop

    def _reborn(self) -> Publisher:
        """Begins anew in a forked process, once it is used there. Returns what the parent goes on with."""
        before, self._publisher = self._publisher, Publisher(self._conversation, **self._options)
        self._lock, self._loop = threading.Lock(), None
        self._inbox.clear()
        self._inbox_bytes = 0
        if self._options.get("publisher"):
            self._publisher.disown()
        return before

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
        loop = self._running()
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
            loop.call_soon_threadsafe(self._drain)

    def publish(self, *events: Event, timeout: float | None = None) -> None:
        """The same, but waits for room, which may be long where there is no hub. Not for use on an event loop."""
        claim = _Claim()
        try:
            self._call(self._publish([encode(event) for event in events], claim), timeout)
        except Late as error:
            if claim.take():
                raise BufferFull("there was no room in time") from error

    def flush(self, timeout: float | None = None) -> Standing:
        """Waits until the hub has everything. Raises ``Undelivered`` when the time is over before."""
        try:
            return self._call(self._flush(timeout), None if timeout is None else timeout + GRACE_S)
        except Late as error:
            standing = self.standing
            waiting = standing.offered - standing.acked + len(self._inbox)
            raise Undelivered(waiting, "its thread does not answer") from error

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
            self._stop()

    def abandon(self, timeout: float) -> None:
        """The same without raising: what the hub does not have by then is lost."""
        try:
            self.close(timeout)
        except FanlightError:
            # Whoever abandons has a more important end to come to.
            pass

    def _stop(self) -> None:
        try:
            self._call(self._publisher.stop(), GRACE_S)
        except Late:
            # Its thread is a daemon: nobody has to wait for it.
            pass

    def _call(self, work: Coroutine[Any, Any, Result], timeout: float | None) -> Result:
        """What comes of ``work`` on the thread. Raises ``Late`` when the time is over before."""
        running = asyncio.run_coroutine_threadsafe(work, self._running())
        try:
            return running.result(timeout)
        except Late:
            running.cancel()
            raise

    async def _publish(self, encoded: list[bytes], claim: _Claim) -> None:
        self._drain()
        await self._publisher.room()
        if claim.take():
            for event in encoded:
                self._publisher.push_encoded(event)

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
