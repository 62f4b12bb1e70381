"""A LangGraph agent that is seen in all that it does. Usage: with_langgraph.py CONVERSATION."""

import sys

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model

from fanlight import SyncPublisher
from fanlight.adapters.langchain import FanlightCallback


def get_weather(city: str) -> dict:
    """The weather in a city."""
    return {"city": city, "degrees": 21}


agent = create_agent(init_chat_model("openai:gpt-5", streaming=True), tools=[get_weather], name="Weather")
question = {"messages": [{"role": "user", "content": "What is the weather in Lisbon?"}]}
with SyncPublisher(sys.argv[1]) as publisher:
    answer = agent.invoke(question, config={"callbacks": [FanlightCallback(publisher)]})
print(answer["messages"][-1].text)
