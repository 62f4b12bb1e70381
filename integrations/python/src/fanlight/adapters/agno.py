"""Agno: events of agents and teams, passed on to whoever asked for them and shown meanwhile.

::

    from fanlight import SyncPublisher
    from fanlight.adapters.agno import forward

    with SyncPublisher("weather") as publisher:
        for event in forward(publisher, agent.run(question, stream=True, stream_events=True), question):
            ...

``aforward`` does the same for ``agent.arun``. ``stream_events=True`` is what makes calls visible. Members of a team are
sub-agents.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any

from ..run import Offers, Run, Voice


def forward(publisher: Offers, events: Iterable[Any], question: str | None = None) -> Iterator[Any]:
    """Yields ``events`` as they are, and shows them."""
    told = Told(publisher, question)
    try:
        for event in events:
            told.hear(event)
            yield event
    except BaseException as error:
        told.broke(error)
        raise
    told.over()


async def aforward(publisher: Offers, events: AsyncIterable[Any], question: str | None = None) -> AsyncIterator[Any]:
    """The same for events that come asynchronously."""
    told = Told(publisher, question)
    try:
        async for event in events:
            told.hear(event)
            yield event
    except BaseException as error:
        told.broke(error)
        raise
    told.over()


class Told:
    """What is known of one run from its events."""

    def __init__(self, publisher: Offers, question: str | None = None) -> None:
        self.voice = Voice(publisher)
        self._question = question
        self._run: Run | None = None
        self._main: str | None = None
        self._agents: set[str] = set()
        self._streamed: set[str] = set()

    def hear(self, event: Any) -> None:
        """Shows one event."""
        try:
            self._hear(event)
        except Exception:
            self.voice.trouble()

    def broke(self, error: BaseException) -> None:
        """The events broke off."""
        if self._run is None:
            self._run = Run(self.voice)
        if isinstance(error, GeneratorExit):
            self._run.end("cancelled")
        else:
            self._run.fail(error)

    def over(self) -> None:
        """There are no more events."""
        if self._run is not None:
            self._run.end()

    def _begin(self, event: Any) -> Run:
        if self._run is None:
            self._main = event.run_id
            name = getattr(event, "agent_name", None) or getattr(event, "team_name", None)
            self._run = Run(
                self.voice, run=event.run_id, name=name or None, model=getattr(event, "model", None) or None
            )
            if self._question:
                self._run.message("user", self._question)
        return self._run

    def _agent(self, run: Run, event: Any) -> str | None:
        """The sub-agent that an event is of; nothing for the main one."""
        run_id: str | None = event.run_id
        if run_id is None or run_id == self._main:
            return None
        if run_id not in self._agents:
            self._agents.add(run_id)
            parent = event.parent_run_id
            name = getattr(event, "agent_name", None) or getattr(event, "team_name", None)
            run.agent_start(run_id, name or None, parent=parent if parent in self._agents else None)
        return run_id

    def _hear(self, event: Any) -> None:
        kind = getattr(event, "event", None)
        # What a run gives back whole, where it was asked for, is no event.
        if not isinstance(kind, str):
            return
        kind = kind.removeprefix("Team")
        run = self._begin(event)
        agent = self._agent(run, event)
        if kind in ("RunContent", "RunIntermediateContent"):
            self._content(run, event, agent)
        elif kind == "ReasoningContentDelta":
            run.thinking(event.reasoning_content, agent)
        elif kind.startswith("ToolCall"):
            self._tool(run, kind, event, agent)
        elif kind == "ModelRequestCompleted":
            run.end_text(agent)
            counts = [event.input_tokens, event.output_tokens, event.reasoning_tokens, event.cache_read_tokens]
            run.usage(*[count or 0 for count in counts], agent=agent)
        elif kind == "RunPaused":
            run.status("waits for a person")
        elif kind == "RunContinued":
            run.status("goes on")
        elif kind in ("RunCompleted", "RunError", "RunCancelled"):
            self._end(run, kind, event, agent)
        elif kind == "CustomEvent":
            run.custom(type(event).__name__, event.to_dict(), agent)

    def _content(self, run: Run, event: Any, agent: str | None) -> None:
        run.thinking(getattr(event, "reasoning_content", None) or "", agent)
        if isinstance(event.content, str) and event.content:
            self._streamed.add(event.run_id)
            run.text(event.content, agent)

    def _tool(self, run: Run, kind: str, event: Any, agent: str | None) -> None:
        tool = event.tool
        call = tool.tool_call_id or tool.tool_name
        if kind == "ToolCallStarted":
            run.tool_call(call, tool.tool_name, tool.tool_args or {}, agent)
            run.tool_executing(call, agent)
            return
        failed = kind == "ToolCallError" or bool(tool.tool_call_error)
        output = tool.result if tool.result is not None else getattr(event, "error", None)
        seconds = getattr(tool.metrics, "duration", None)
        run.tool_result(call, output, is_error=failed, seconds=seconds, agent=agent)

    def _end(self, run: Run, kind: str, event: Any, agent: str | None) -> None:
        if kind == "RunCompleted" and event.run_id not in self._streamed and isinstance(event.content, str):
            run.text(event.content, agent)
        if kind == "RunError":
            run.error(str(event.content), code=getattr(event, "error_type", None), agent=agent)
        status = {"RunCompleted": "complete", "RunError": "error"}.get(kind, "cancelled")
        if agent is None:
            run.end(status)  # type: ignore[arg-type]
        else:
            run.agent_end(agent, status)  # type: ignore[arg-type]
