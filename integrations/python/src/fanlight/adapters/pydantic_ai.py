"""Pydantic AI: the events of a run, passed on to whoever asked for them and shown meanwhile.

::

    from fanlight import SyncPublisher
    from fanlight.adapters.pydantic_ai import forward

    with SyncPublisher("weather") as publisher:
        async with agent.run_stream_events(question) as events:
            async for event in forward(publisher, events, question, name="Weather"):
                ...
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from ..run import Offers, Run


async def forward(
    publisher: Offers,
    events: AsyncIterable[Any],
    question: str | None = None,
    *,
    name: str | None = None,
    model: str | None = None,
) -> AsyncIterator[Any]:
    """Yields ``events`` as they are, and shows them."""
    run = Run(publisher, name=name, model=model)
    if question:
        run.message("user", question)
    writing: dict[int, str] = {}
    try:
        async for event in events:
            try:
                _hear(run, event, writing)
            except Exception:
                run.voice.trouble()
            yield event
    except GeneratorExit:
        run.end("cancelled")
        raise
    except BaseException as error:
        run.fail(error)
        raise
    run.end()


def _hear(run: Run, event: Any, writing: dict[int, str]) -> None:
    kind = event.event_kind
    if kind == "part_start":
        _part(run, event.index, event.part, writing)
    elif kind == "part_delta":
        _delta(run, event.index, event.delta, writing)
    elif kind == "part_end":
        if event.part.part_kind in ("text", "thinking"):
            run.end_text()
    elif kind in ("function_tool_call", "output_tool_call"):
        part = event.part
        run.tool_call(part.tool_call_id, part.tool_name, part.args_as_json_str())
        run.tool_executing(part.tool_call_id)
    elif kind in ("function_tool_result", "output_tool_result"):
        part = event.part
        failed = part.part_kind == "retry-prompt" or getattr(part, "outcome", "success") not in ("success", None)
        run.tool_result(part.tool_call_id, part.content, is_error=failed)
    elif kind == "agent_run_result":
        _result(run, event.result)


def _part(run: Run, index: int, part: Any, writing: dict[int, str]) -> None:
    if part.part_kind == "text":
        run.text(part.content)
    elif part.part_kind == "thinking":
        run.thinking(part.content)
    elif part.part_kind == "tool-call":
        writing[index] = part.tool_call_id
        run.tool_start(part.tool_call_id, part.tool_name)
        if part.args:
            run.tool_arguments(part.tool_call_id, part.args_as_json_str())


def _delta(run: Run, index: int, delta: Any, writing: dict[int, str]) -> None:
    if delta.part_delta_kind == "text":
        run.text(delta.content_delta)
    elif delta.part_delta_kind == "thinking":
        run.thinking(delta.content_delta or "")
    elif delta.part_delta_kind == "tool_call" and index in writing and isinstance(delta.args_delta, str):
        run.tool_arguments(writing[index], delta.args_delta)


def _result(run: Run, result: Any) -> None:
    response = result.response
    run.model(response.model_name)
    usage = result.usage
    reasoning = (usage.details or {}).get("reasoning_tokens", 0)
    run.usage(usage.input_tokens or 0, usage.output_tokens or 0, reasoning, usage.cache_read_tokens or 0)
