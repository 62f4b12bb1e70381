import asyncio

from pydantic_ai import Agent, ModelRetry
from tools import wait_for

agent = Agent("openai-chat:gpt-5")


@agent.tool_plain(retries=3)
def look_up(place: str) -> str:
    """The weather at a place."""
    try:
        return wait_for(place)
    except ValueError as error:
        raise ModelRetry(str(error)) from error


async def main() -> None:
    history = []
    async with agent.iter("How is the weather?") as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    async for _ in stream:
                        pass
        history = run.result.all_messages()
        print(run.result.output)
    second = await agent.run("Thank you!", message_history=history)
    print(second.output)


asyncio.run(main())
