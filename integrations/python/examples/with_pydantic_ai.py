"""A Pydantic AI agent that is seen in all that it does. Usage: with_pydantic_ai.py CONVERSATION."""

import asyncio
import sys

from pydantic_ai import Agent

from fanlight import SyncPublisher
from fanlight.adapters.pydantic_ai import forward

agent = Agent("openai-chat:gpt-5")


@agent.tool_plain
def get_weather(city: str) -> dict:
    """The weather in a city."""
    return {"city": city, "degrees": 21}


async def main() -> None:
    question = "What is the weather in Lisbon?"
    with SyncPublisher(sys.argv[1]) as publisher:
        async with agent.run_stream_events(question) as events:
            async for event in forward(publisher, events, question, name="Weather"):
                if event.event_kind == "agent_run_result":
                    print(event.result.output)


asyncio.run(main())
