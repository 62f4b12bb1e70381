"""An agent of the OpenAI Agents SDK that is seen in all that it does. Usage: with_openai_agents.py CONVERSATION."""

import asyncio
import json
import sys

from agents import Agent, Runner, function_tool, set_trace_processors

from fanlight import SyncPublisher
from fanlight.adapters.openai_agents import FanlightTracing


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return json.dumps({"city": city, "degrees": 21})


async def main() -> None:
    agent = Agent(name="Weather", model="gpt-5", tools=[get_weather])
    with SyncPublisher(sys.argv[1]) as publisher:
        tracing = FanlightTracing(publisher)
        # In place of the SDK's own; add_trace_processor keeps that too.
        set_trace_processors([tracing])
        result = Runner.run_streamed(agent, "What is the weather in Lisbon?")
        async for event in tracing.forward(result):
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                print(event.data.delta, end="", flush=True)


asyncio.run(main())
