import logging

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai import OpenAIChat
from tools import wait_for


def look_up(place: str) -> str:
    """The weather at a place."""
    return wait_for(place)


# It says on stdout what goes wrong.
logging.disable()
agent = Agent(
    name="Weather",
    model=OpenAIChat(id="gpt-5"),
    tools=[look_up],
    db=InMemoryDb(),
    session_id="s",
    add_history_to_context=True,
)
for event in agent.run("How is the weather?", stream=True):
    if event.content:
        print(event.content, end="")
print()
print(agent.run("Thank you!").content)
