"""Waking those who wait for something to change."""

from __future__ import annotations

import asyncio


class Signal:
    """Whoever waits is woken by the next ``notify``; one that came before does not count."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()

    def notify(self) -> None:
        """Wakes all who wait."""
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, timeout: float | None = None) -> bool:
        """Waits for the next ``notify``; false when the time was over first."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await asyncio.wait_for(waiter, timeout)
        except (TimeoutError, asyncio.TimeoutError):
            return False
        finally:
            self._waiters.discard(waiter)
        return True
