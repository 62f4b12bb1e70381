"""Tells a hub what an agent does, each event exactly once. Usage: publish.py CONVERSATION [STEPS]."""

import asyncio
import sys

from fanlight import Publisher


async def main(conversation: str, steps: int) -> None:
    run = "r1"
    async with Publisher(conversation, durability="stored") as publisher:
        await publisher.publish(
            {"k": "run.start", "run": run, "name": "counter", "model": "none"},
            {"k": "part.start", "run": run, "part": "p1", "kind": "text"},
        )
        for step in range(1, steps + 1):
            await publisher.publish({"k": "part.delta", "run": run, "part": "p1", "text": f"{step} "})
            await asyncio.sleep(0.005)
        await publisher.publish(
            {"k": "part.end", "run": run, "part": "p1"},
            {"k": "run.end", "run": run, "status": "complete"},
        )
        standing = await publisher.flush()
    print(f"{standing.acked} of {standing.offered} events are at {standing.position}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100))
