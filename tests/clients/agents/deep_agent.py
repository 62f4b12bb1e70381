from deepagents import create_deep_agent
from langchain_core.tools import ToolException, tool
from tools import wait_for


@tool
def look_up(place: str) -> str:
    """The weather at a place."""
    try:
        return wait_for(place)
    except ValueError as error:
        raise ToolException(str(error)) from error


look_up.handle_tool_error = True
agent = create_deep_agent(model="openai:gpt-5", tools=[look_up])
state = {"messages": [{"role": "user", "content": "How is the weather?"}]}
for mode, part in agent.stream(state, stream_mode=["messages", "values"]):
    if mode == "values":
        state = part
print(state["messages"][-1].text)
thanks = {"role": "user", "content": "Thank you!"}
print(agent.invoke({"messages": [*state["messages"], thanks]})["messages"][-1].text)
