"""Prints what an agent says as it says it, until its run ends. Usage: subscribe.py CONVERSATION."""

import asyncio
import sys

from fanlight import Subscription


async def main(conversation: str) -> None:
    shown = ""
    async with Subscription(conversation) as subscription:
        async for event in subscription:
            if event["k"] == "snapshot":
                # It stands for everything before it; what is shown already is its beginning.
                runs = event["state"]["runs"].values()
                text = "".join(part["text"] for run in runs for part in run["parts"].values())
                print(text.removeprefix(shown), end="", flush=True)
                shown = text
                if any(run["status"] != "running" for run in runs):
                    break
            elif event["k"] == "part.delta":
                print(event["text"], end="", flush=True)
                shown += event["text"]
            elif event["k"] == "run.end":
                break
    print(f"\nat {subscription.position}, {subscription.connections} connections", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
