"""Agents behind AG-UI, whose models call their tool once and then say what came of it; `careful` asks before. The port is
the argument."""

import sys

import uvicorn
from pydantic_ai import Agent, DeferredToolRequests
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


careful = Agent("test", output_type=[str, DeferredToolRequests])


@careful.tool_plain(requires_approval=True)
def delete(file: str) -> str:
    """Deletes a file."""
    return f"{file} is gone"


async def answer(request: Request) -> Response:
    asked = careful if request.url.path == "/careful" else agent
    return await AGUIAdapter.dispatch_request(request, agent=asked)


paths = ["/agent", "/careful"]
app = Starlette(routes=[Route(path, answer, methods=["POST"]) for path in paths])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
