"""One WebSocket to a hub, from the handshake to the close."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from ._address import Address
from ._backoff import may_reconnect
from .errors import Closed

SUBPROTOCOL = "fanlight.v1"
CLIENT = "fanlight-python/0.1.0"
OPEN_TIMEOUT_S = 10.0
"""How long the handshake, ``hello`` and ``welcome`` included, may take."""
SILENCE_GRACE_S = 10.0
"""Added to two heartbeats before a silent socket counts as dead: the hub may be busy."""


class Lost(Exception):
    """There is no socket, or not any more; it may work later. ``retry_ms`` is the wait that the hub asked for."""

    def __init__(self, why: str, retry_ms: int | None = None) -> None:
        super().__init__(why)
        self.retry_ms = retry_ms


class Link:
    """An open socket on which both sides have said hello."""

    def __init__(self, socket: ClientConnection, welcome: dict[str, Any]) -> None:
        self._socket = socket
        self.welcome = welcome
        self._patience_s = welcome["hb_ms"] * 2 / 1000 + SILENCE_GRACE_S
        self._asked_ms: int | None = None

    @classmethod
    async def open(cls, address: Address) -> Link:
        """Connects and says hello. Raises ``Lost`` where it may work later, else ``Closed``."""
        try:
            return await asyncio.wait_for(cls._handshake(address), OPEN_TIMEOUT_S)
        except InvalidStatus as error:
            status = error.response.status_code
            if 400 <= status < 500 and status not in (408, 429):
                body = bytes(error.response.body or b"")[:200].decode("utf-8", "replace")
                raise Closed(status, body) from error
            raise Lost(str(error)) from error
        except (TimeoutError, asyncio.TimeoutError) as error:
            raise Lost("the hub does not answer the handshake") from error
        except (OSError, InvalidHandshake, InvalidURI, EOFError) as error:
            raise Lost(str(error) or type(error).__name__) from error

    @classmethod
    async def _handshake(cls, address: Address) -> Link:
        socket = await connect(
            address.socket,
            subprotocols=[SUBPROTOCOL],  # type: ignore[list-item]
            additional_headers=address.headers,
            compression=None,
            open_timeout=None,
            # The protocol has heartbeats of its own.
            ping_interval=None,
            close_timeout=1,
            # A snapshot can be large.
            max_size=None,
            proxy=None,
        )
        try:
            await socket.send(json.dumps({"t": "hello", "versions": ["1"], "client": CLIENT}))
            link = cls(socket, {"hb_ms": 0})
            welcome = await link.receive()
            if welcome.get("t") != "welcome":
                raise Lost(f"the hub began with {str(welcome.get('t'))[:40]!r} instead of welcome")
            return cls(socket, welcome)
        except BaseException:
            socket.transport.abort()
            raise

    @property
    def frame_bytes_max(self) -> int:
        """Longest frame that the hub takes."""
        return int(self.welcome.get("limits", {}).get("inbound_frame_bytes", 1 << 20))

    @property
    def events_max(self) -> int:
        """Most events in one frame."""
        return int(self.welcome.get("limits", {}).get("events_per_publish", 10_000))

    async def send(self, frame: str) -> None:
        """Sends one frame."""
        try:
            await self._socket.send(frame)
        except ConnectionClosed as error:
            raise self._closed(error) from error

    async def receive(self) -> dict[str, Any]:
        """The next frame. Raises ``Lost`` or ``Closed`` when there is none any more."""
        while True:
            try:
                message = await asyncio.wait_for(self._socket.recv(), self._patience_s)
            except ConnectionClosed as error:
                raise self._closed(error) from error
            except (TimeoutError, asyncio.TimeoutError) as error:
                raise Lost("the hub has fallen silent") from error
            # Binary frames are for later versions.
            if isinstance(message, bytes):
                continue
            try:
                frame = json.loads(message)
            except ValueError as error:
                raise Lost(f"the hub sent nonsense: {error}") from error
            if isinstance(frame, dict):
                if frame.get("t") == "bye":
                    self._bye(frame)
                return frame

    def _bye(self, frame: dict[str, Any]) -> None:
        if not frame.get("reconnect"):
            raise Closed(int(frame.get("code", 0)), str(frame.get("reason", "")))
        self._asked_ms = int(frame.get("retry_ms", 0))

    def _closed(self, error: ConnectionClosed) -> Exception:
        received = error.rcvd
        if received is not None and not may_reconnect(received.code):
            return Closed(received.code, received.reason)
        return Lost(str(error), self._asked_ms)

    async def close(self) -> None:
        """Closes in good order, as far as the hub goes along."""
        await self._socket.close()

    def abort(self) -> None:
        """Lets go of the socket at once."""
        self._socket.transport.abort()
