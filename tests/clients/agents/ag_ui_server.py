"""An agent behind AG-UI, whose model calls its tool once and then says what came of it. The port is its argument."""

import sys

import uvicorn
from pydantic_ai import Agent
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

agent = Agent("test")


@agent.tool_plain
def look_up(place: str) -> str:
    """The weather at a place."""
    return f"{place} is sunny"


async def answer(request: Request) -> Response:
    return await AGUIAdapter.dispatch_request(request, agent=agent)


app = Starlette(routes=[Route("/agent", answer, methods=["POST"])])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
