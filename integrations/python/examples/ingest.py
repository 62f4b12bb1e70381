"""Passes a vendor's stream on to a hub as it is. Usage: ingest.py DIALECT CONVERSATION < stream.

A stream that is cut cannot resume (see ``ingest``): `fanlight tee` does the same and resumes.
"""

import asyncio
import sys

from fanlight import ingest


async def main(dialect: str, conversation: str) -> None:
    stream = iter(lambda: sys.stdin.buffer.read1(65536), b"")
    taken = await ingest(dialect, conversation, stream)
    print(f"{taken.events} events, {taken.anomalies} anomalies, at {taken.position}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
