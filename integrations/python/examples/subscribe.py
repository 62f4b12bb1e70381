"""Prints what an agent says as it says it, until its run ends. Usage: subscribe.py CONVERSATION."""

import asyncio
import sys

from fanlight import Subscription


def show(text: str, shown: str) -> str:
    """Prints what `text` has beyond `shown`, which is printed already. Returns what is printed then."""
    if shown.startswith(text):
        # A hub that crashed may have less than it had shown. The publisher sends the rest again.
        return shown
    if not text.startswith(shown):
        # What comes in the place of the rest is something else: print it from its beginning.
        print()
        shown = ""
    print(text.removeprefix(shown), end="", flush=True)
    return text


async def main(conversation: str) -> None:
    text = shown = ""
    async with Subscription(conversation) as subscription:
        async for event in subscription:
            if event["k"] == "snapshot":
                # It stands for everything before it.
                runs = event["state"]["runs"].values()
                text = "".join(part["text"] for run in runs for part in run["parts"].values())
                shown = show(text, shown)
                if any(run["status"] != "running" for run in runs):
                    break
            elif event["k"] == "part.delta":
                text += event["text"]
                shown = show(text, shown)
            elif event["k"] == "run.end":
                break
    print(f"\nat {subscription.position}, {subscription.connections} connections", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
