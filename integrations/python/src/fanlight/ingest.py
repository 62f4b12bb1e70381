"""Streams in a vendor's own format, as they are: the hub decodes them while they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from dataclasses import dataclass

from . import _http
from ._address import Address
from .errors import Refused, Unreachable
from .position import Position
from .publisher import Durability


@dataclass(frozen=True)
class Taken:
    """What the hub has taken of a stream."""

    position: Position
    """Where the conversation stands with it."""
    events: int
    """How many events it became."""
    anomalies: int
    """How much of it was odd."""
    durability: str
    """What the answer means."""


async def ingest(
    dialect: str,
    conversation: str,
    body: bytes | Iterable[bytes] | AsyncIterable[bytes],
    *,
    run: str | None = None,
    durability: Durability | None = None,
    url: str | None = None,
    token: str | None = None,
) -> Taken:
    """Posts the stream ``body`` in ``dialect`` while it is made; returns when it has ended and the hub has it.

    With ``run`` it is one step of that run, which other streams may continue. A stream has no numbers: one that breaks off
    (``Unreachable``) leaves what came, and its run is interrupted. It is not tried again: what was sent is gone from ``body``, and
    the hub could not tell what it has of it. Where the network or the hub may go away, say events with ``Publisher``.
    """
    address = Address.of(url, token)
    headers = {"Content-Type": "application/octet-stream"}
    if run is not None:
        headers["Fanlight-Run"] = run
    if durability is not None:
        headers["Fanlight-Durability"] = durability
    pieces = body if isinstance(body, (bytes, AsyncIterable)) else _each(body)
    try:
        answer = await _http.post(address, address.path("ingest", dialect, conversation), headers, pieces)
    except OSError as error:
        raise Unreachable(f"{address.url}: {error}") from error
    said = answer.json()
    if answer.status != 200:
        raise Refused(str(said.get("code", answer.status)), answer.problem())
    place = said["position"]
    return Taken(Position(place["epoch"], place["seq"]), said["events"], said["anomalies"], said["durability"])


async def _each(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Pieces that may block, off the loop."""
    source = iter(pieces)
    while True:
        piece = await asyncio.to_thread(next, source, None)
        if piece is None:
            return
        yield piece
