"""As much HTTP/1.1 as publishing takes: one POST over a connection of its own, its body at once or while it is made."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ._address import Address

ANSWER_BYTES_MAX = 1 << 20
CONNECT_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body as an object; an empty one where it is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def problem(self) -> str:
        """What the hub says is wrong."""
        said = self.json()
        return f"{self.status} {said.get('code', '')}: {said.get('detail') or said.get('title') or ''}".strip()


async def post(address: Address, path: str, headers: Mapping[str, str], body: bytes | AsyncIterable[bytes]) -> Answer:
    """Posts ``body``. An answer that comes before the body has ended ends the body. Raises ``OSError``."""
    parts = urlsplit(address.url)
    secure = ssl.create_default_context() if parts.scheme == "https" else None
    port = parts.port or (443 if secure else 80)
    opening = asyncio.open_connection(parts.hostname, port, ssl=secure)
    try:
        reader, writer = await asyncio.wait_for(opening, CONNECT_TIMEOUT_S)
    except (TimeoutError, asyncio.TimeoutError) as error:
        raise ConnectionError(f"no answer from {address.url}") from error
    try:
        answering = asyncio.ensure_future(_answer(reader))
        writing = asyncio.ensure_future(_write(writer, path, parts.netloc, {**address.headers, **headers}, body))
        try:
            await asyncio.wait({answering, writing}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                try:
                    await writing
                except ConnectionError:
                    # The hub has hung up on the body; its answer, if there is one, says why.
                    pass
            return await answering
        finally:
            for task in (answering, writing):
                task.cancel()
            await asyncio.gather(answering, writing, return_exceptions=True)
    finally:
        writer.close()


async def _write(
    writer: asyncio.StreamWriter,
    path: str,
    host: str,
    headers: Mapping[str, str],
    body: bytes | AsyncIterable[bytes],
) -> None:
    whole = isinstance(body, bytes)
    size = f"Content-Length: {len(body)}" if isinstance(body, bytes) else "Transfer-Encoding: chunked"
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", "Connection: close", size]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header cannot hold a line break")
    writer.write("\r\n".join([*lines, "", ""]).encode())
    if isinstance(body, bytes):
        writer.write(body)
    else:
        async for piece in body:
            if piece:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
    if not whole:
        writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _answer(reader: asyncio.StreamReader) -> Answer:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            status = int(head[0].split(" ", 2)[1])
            # 1xx only announces.
            if status >= 200:
                break
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        if "chunked" in fields.get("transfer-encoding", ""):
            return Answer(status, await _unchunked(reader))
        if "content-length" in fields:
            return Answer(status, await reader.readexactly(min(int(fields["content-length"]), ANSWER_BYTES_MAX)))
        return Answer(status, await reader.read(ANSWER_BYTES_MAX))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, IndexError) as error:
        raise ConnectionError(f"the answer broke off: {error}") from error


async def _unchunked(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while len(body) < ANSWER_BYTES_MAX:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        piece = await reader.readexactly(size + 2)
        if size == 0:
            break
        body += piece[:-2]
    return body
