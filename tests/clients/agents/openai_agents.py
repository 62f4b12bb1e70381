import asyncio

from agents import Agent, Runner, function_tool
from tools import wait_for


@function_tool(failure_error_function=lambda _, error: str(error))
async def look_up(place: str) -> str:
    """The weather at a place."""
    return await asyncio.to_thread(wait_for, place)


async def main() -> None:
    agent = Agent(name="Weather", model="gpt-5", tools=[look_up])
    first = Runner.run_streamed(agent, "How is the weather?")
    async for _ in first.stream_events():
        pass
    print(first.final_output)
    second = await Runner.run(agent, [*first.to_input_list(), {"role": "user", "content": "Thank you!"}])
    print(second.final_output)


asyncio.run(main())
