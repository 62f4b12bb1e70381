"""An Agno agent that is seen in all that it does. Usage: with_agno.py CONVERSATION."""

import json
import sys

from agno.agent import Agent
from agno.models.openai import OpenAIChat

from fanlight import SyncPublisher
from fanlight.adapters.agno import forward


def get_weather(city: str) -> str:
    """The weather in a city."""
    return json.dumps({"city": city, "degrees": 21})


agent = Agent(name="Weather", model=OpenAIChat(id="gpt-5"), tools=[get_weather])
question = "What is the weather in Lisbon?"
with SyncPublisher(sys.argv[1]) as publisher:
    for event in forward(publisher, agent.run(question, stream=True, stream_events=True), question):
        if event.event == "RunContent":
            print(event.content or "", end="", flush=True)
