from langchain.agents import create_agent
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
graph = create_agent("openai:gpt-5", tools=[look_up])
state = {"messages": [{"role": "user", "content": "How is the weather?"}]}
for mode, part in graph.stream(state, stream_mode=["messages", "values"]):
    if mode == "values":
        state = part
print(state["messages"][-1].text)
thanks = {"role": "user", "content": "Thank you!"}
print(graph.invoke({"messages": [*state["messages"], thanks]})["messages"][-1].text)
