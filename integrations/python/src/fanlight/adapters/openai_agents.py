"""The OpenAI Agents SDK: a trace processor that shows agents, models and tools, and a forwarder for what streams.

::

    from agents import add_trace_processor
    from fanlight import SyncPublisher
    from fanlight.adapters.openai_agents import FanlightTracing

    with SyncPublisher("weather") as publisher:
        add_trace_processor(FanlightTracing(publisher))
        await Runner.run(agent, question)

Each trace is one run. An agent that works as a tool of another one is a sub-agent; a handoff goes on in the same run. Texts come
when the model has said them; to see them while they stream, take the events through ``FanlightTracing.forward``.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from typing import Any

from agents import RunResultStreaming, StreamEvent
from agents.tracing import Span, Trace, TracingProcessor
from agents.tracing.span_data import (
    AgentSpanData,
    FunctionSpanData,
    GenerationSpanData,
    HandoffSpanData,
    ResponseSpanData,
)

from ..run import Offers, Run, Voice

_PREFIX = "transfer_to_"
"""What the names of handoffs begin with, unless they were given others."""

_IGNORED = "Multiple handoffs detected, ignoring this one."
"""What the SDK tells the model of a handoff beside the one that it follows."""


class _Told:
    """What is known of a trace."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.run: Run | None = None
        self.agents: dict[str, tuple[str | None, str | None]] = {}
        """Of each span that is open: the sub-agent that it is of, and the call where it is that of a tool."""
        self.pending: dict[tuple[str | None, str], list[tuple[str, Any]]] = {}
        """Calls that were written and are not executed yet, with their arguments, by who wrote them and their tool."""
        self.begun: dict[str, Span[Any]] = {}
        """Spans of tools of which it is not known yet which call they execute."""
        self.since: dict[str, float] = {}
        """When the spans of tools that are open began."""
        self.streams = False
        self.failed = False
        self.asked = False


class FanlightTracing(TracingProcessor):
    """Publishes what agents, models and tools do. One serves any number of traces."""

    def __init__(self, publisher: Offers) -> None:
        self.voice = Voice(publisher)
        self._traces: dict[str, _Told] = {}

    async def forward(self, result: RunResultStreaming) -> AsyncIterator[StreamEvent]:
        """The events of ``result``, as they are; texts and reasoning show while they stream."""
        told = None
        if result.trace is not None:
            # The trace may begin only with the first event.
            told = self._traces.setdefault(result.trace.trace_id, _Told(result.trace.name))
            told.streams = True
        async for event in result.stream_events():
            if told is not None and told.run is not None:
                try:
                    self._stream(told.run, event)
                except Exception:
                    self.voice.trouble()
            yield event

    def _stream(self, run: Run, event: StreamEvent) -> None:
        if event.type != "raw_response_event":
            return
        data: Any = event.data
        kind = data.type
        if kind == "response.output_text.delta":
            run.text(data.delta)
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            run.thinking(data.delta)
        elif kind == "response.refusal.delta":
            run.refusal(data.delta)
        elif kind == "response.output_item.done":
            run.end_text()

    def on_trace_start(self, trace: Trace) -> None:
        """A run begins."""
        self._traces.setdefault(trace.trace_id, _Told(trace.name))

    def on_trace_end(self, trace: Trace) -> None:
        """It is over."""
        told = self._traces.pop(trace.trace_id, None)
        if told is not None and told.run is not None:
            told.run.end("error" if told.failed else "complete")

    def on_span_start(self, span: Span[Any]) -> None:
        """Something in it begins."""
        try:
            told = self._traces.get(span.trace_id)
            if told is not None:
                self._start(told, span)
        except Exception:
            self.voice.trouble()

    def on_span_end(self, span: Span[Any]) -> None:
        """It is over."""
        try:
            told = self._traces.get(span.trace_id)
            if told is not None:
                self._end(told, span)
        except Exception:
            self.voice.trouble()

    def shutdown(self) -> None:
        """Nothing to do: whoever made the publisher closes it."""

    def force_flush(self) -> None:
        """Nothing to do: what is said is on its way."""

    def _start(self, told: _Told, span: Span[Any]) -> None:
        self._settle(told, span.parent_id)
        above = told.agents.get(span.parent_id or "", (None, None))
        agent, call = above[0], None
        data = span.span_data
        if isinstance(data, AgentSpanData):
            if told.run is None:
                told.run = Run(self.voice, run=span.trace_id, name=data.name, title=_title(told.name))
            elif above[1] is not None:
                told.run.agent_start(span.span_id, data.name, parent=agent, tool=above[1])
                agent = span.span_id
        elif isinstance(data, FunctionSpanData) and told.run is not None:
            told.begun[span.span_id], told.since[span.span_id] = span, time.monotonic()
            told.agents[span.span_id] = (agent, None)
            if len(told.pending.get((agent, data.name), [])) < 2 or not self._soon(told, span.span_id):
                self._settle(told, span.span_id)
            return
        elif isinstance(data, HandoffSpanData):
            told.since[span.span_id] = time.monotonic()
        elif above[1] is not None:
            # What groups spans inside of a tool is still inside of it.
            call = above[1]
        told.agents[span.span_id] = (agent, call)

    def _soon(self, told: _Told, span: str) -> bool:
        """Settles it once the SDK has said with which arguments, which it does right after the beginning."""

        def settle() -> None:
            try:
                self._settle(told, span)
            except Exception:
                self.voice.trouble()

        try:
            asyncio.get_running_loop().call_soon(settle)
        except RuntimeError:
            return False
        return True

    def _settle(self, told: _Told, span_id: str | None) -> None:
        """Finds the call that a span executes, where that was not done yet."""
        span = told.begun.pop(span_id or "", None)
        if span is None or told.run is None:
            return
        agent, data = told.agents[span.span_id][0], span.span_data
        call = _executed(told.pending.get((agent, data.name), []), data.input) or span.span_id
        told.agents[span.span_id] = (agent, call)
        told.run.tool_call(call, data.name, data.input or "", agent)
        told.run.tool_executing(call, agent)

    def _end(self, told: _Told, span: Span[Any]) -> None:
        self._settle(told, span.span_id)
        agent, call = told.agents.pop(span.span_id, (None, None))
        run, data = told.run, span.span_data
        if run is None:
            return
        error = span.error
        if isinstance(data, FunctionSpanData) and call is not None:
            output = data.output if error is None or data.output is not None else _why(error)
            seconds = time.monotonic() - told.since.pop(span.span_id)
            run.tool_result(call, output, is_error=error is not None, seconds=seconds, agent=agent)
            return
        if isinstance(data, AgentSpanData) and agent is not None and agent == span.span_id:
            run.agent_end(agent, "error" if error else "complete")
        if isinstance(data, ResponseSpanData) and data.response is not None:
            self._response(told, run, data, agent)
        elif isinstance(data, GenerationSpanData):
            self._generation(told, run, data, agent)
        elif isinstance(data, HandoffSpanData):
            run.status(f"handed over to {data.to_agent}")
            seconds = time.monotonic() - told.since.pop(span.span_id, time.monotonic())
            self._hand_over(told, run, data.to_agent, seconds, agent)
        if isinstance(data, (ResponseSpanData, GenerationSpanData, AgentSpanData)):
            # A model that is asked again after a failure has mended it.
            told.failed = error is not None or (told.failed and isinstance(data, AgentSpanData))
            if error is not None:
                run.error(_why(error), code=error["message"], agent=agent)

    def _ask(self, told: _Told, run: Run, given: Any) -> None:
        """What the run was asked, once."""
        if told.asked:
            return
        told.asked = True
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given or []:
            if isinstance(item, dict) and isinstance(item.get("content"), str) and item.get("role"):
                run.message(str(item["role"]), item["content"])

    def _response(self, told: _Told, run: Run, data: ResponseSpanData, agent: str | None) -> None:
        response = data.response
        if response is None:
            return
        silent = told.streams and agent is None
        if agent is None:
            run.model(str(response.model))
            self._ask(told, run, data.input)
        for item in response.output:
            if item.type == "reasoning" and not silent:
                run.thinking("\n\n".join(part.text for part in item.summary), agent)
            elif item.type == "message" and not silent:
                for part in item.content:
                    if part.type == "output_text":
                        run.text(part.text, agent)
                    else:
                        run.refusal(part.refusal, agent)
            elif item.type == "function_call":
                self._written(told, run, item.call_id, item.name, item.arguments, agent)
        if not silent:
            run.end_text(agent)
        usage = response.usage
        if usage is not None:
            reasoning, cached = usage.output_tokens_details.reasoning_tokens, usage.input_tokens_details.cached_tokens
            run.usage(usage.input_tokens, usage.output_tokens, reasoning or 0, cached or 0, agent=agent)

    def _generation(self, told: _Told, run: Run, data: GenerationSpanData, agent: str | None) -> None:
        silent = told.streams and agent is None
        if agent is None:
            run.model(data.model)
            self._ask(told, run, data.input)
        for message in data.output or []:
            # A streamed completion is told in the form of a response.
            for item in message.get("output") or []:
                if item.get("type") == "function_call":
                    self._written(told, run, item["call_id"], item["name"], item["arguments"], agent)
                for part in item.get("content") or []:
                    if part.get("type") == "output_text" and not silent:
                        run.text(part["text"], agent)
            if isinstance(message.get("content"), str) and not silent:
                run.text(message["content"], agent)
            for call in message.get("tool_calls") or []:
                function = call["function"]
                self._written(told, run, call["id"], function["name"], function["arguments"], agent)
        if not silent:
            run.end_text(agent)
        usage = data.usage or {}
        run.usage(usage.get("input_tokens", 0) or 0, usage.get("output_tokens", 0) or 0, agent=agent)

    def _hand_over(self, told: _Told, run: Run, to: str | None, seconds: float, agent: str | None) -> None:
        """The call that asked for a handoff is over; the SDK has no span of a tool for it."""
        waiting = [(name, call) for (by, name), calls in told.pending.items() if by == agent for call, _ in calls]
        usual = _PREFIX + re.sub("[^a-zA-Z0-9_]", "_", to or "").lower()
        asked = [(name, call) for name, call in waiting if name.lower() == usual] or [
            # A handoff may have a name of its own. All other calls of the answer are executed before it.
            *((name, call) for name, call in waiting if name.startswith(_PREFIX)),
            *waiting,
        ]
        for name, call in asked[:1]:
            self._drop(told, agent, name, call)
            run.tool_executing(call, agent)
            run.tool_result(call, {"assistant": to}, is_error=False, seconds=seconds, agent=agent)
            waiting.remove((name, call))
        for name, call in waiting:
            if name.startswith(_PREFIX):
                self._drop(told, agent, name, call)
                run.tool_result(call, _IGNORED, is_error=False, seconds=None, agent=agent)

    def _drop(self, told: _Told, agent: str | None, name: str, call: str) -> None:
        calls = told.pending[(agent, name)]
        told.pending[(agent, name)] = [waiting for waiting in calls if waiting[0] != call]

    def _written(self, told: _Told, run: Run, call: str, name: str, arguments: str, agent: str | None) -> None:
        told.pending.setdefault((agent, name), []).append((call, _given(arguments)))
        run.tool_call(call, name, arguments, agent)


def _executed(waiting: list[tuple[str, Any]], given: Any) -> str | None:
    """Which of the calls that wait is executed: the first with these arguments, else the first. It waits no longer."""
    if not waiting:
        return None
    given = _given(given)
    found = next((place for place, (_, arguments) in enumerate(waiting) if arguments == given), 0)
    return waiting.pop(found)[0]


def _given(arguments: Any) -> Any:
    """Arguments as they compare, however they are written."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments) if arguments else {}
    except ValueError:
        return arguments


def _title(name: str) -> str | None:
    return None if name == "Agent workflow" else name


def _why(error: Any) -> str:
    """What went wrong, as the span says it."""
    data = error.get("data") or {}
    said = data.get("error") if isinstance(data, dict) else data
    return str(said or (json.dumps(data, default=str) if data else error["message"]))
