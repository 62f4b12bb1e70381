"""Agno: events of agents and teams, passed on to whoever asked for them and shown meanwhile.

::

    from fanlight import SyncPublisher
    from fanlight.adapters.agno import forward

    with SyncPublisher("weather") as publisher:
        for event in forward(publisher, agent.run(question, stream=True, stream_events=True), question):
            ...

``aforward`` does the same for ``agent.arun``. ``stream_events=True`` is what makes calls visible. Members of a team are
sub-agents. A run that has paused goes on with the events of ``continue_run``, forwarded in the same way.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

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


HAND_OVER = ("delegate_task_to_member", "transfer_task_to_member", "forward_task_to_member", "run_member_agent")
"""How the tools are called by which a team hands work over: agno measures only how long the handing over took."""

QUIET: tuple[str, ...] = ("Reasoning", "PreHook", "PostHook", "MemoryUpdate", "SessionSummary", "ParserModelResponse")
QUIET += ("OutputModelResponse", "Compression", "Compaction", "Followups", "RunContent", "ModelRequest", "Run")
"""Steps that begin and end without anything to see in between."""


class Asked(NamedTuple):
    """A call that waits for a person."""

    tool: Any
    agent: str | None
    wants: str


PAUSED_MAX = 1000
"""Most paused runs of one publisher that are remembered for their continuation; of older ones it is not known who was
asked."""

_paused: WeakKeyDictionary[Any, dict[str, dict[str, Asked]]] = WeakKeyDictionary()
"""Of each publisher the runs that have paused, with the calls that wait: ``continue_run`` has a stream of its own."""


class Told:
    """What is known of one run from its events."""

    def __init__(self, publisher: Offers, question: str | None = None) -> None:
        self.voice = Voice(publisher)
        self._publisher = publisher
        self._question = question
        self._run: Run | None = None
        self._main: str | None = None
        self._agents: set[str] = set()
        self._streamed: set[str] = set()
        self._asked: dict[str, Asked] = {}
        self._written: dict[str, str] = {}
        self._is_paused = False

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
            self._run.end(finish_reason="paused" if self._is_paused else None)
            if self._is_paused and self._main:
                runs = _paused.setdefault(self._publisher, {})
                runs[self._main] = self._asked
                for oldest in list(runs)[:-PAUSED_MAX]:
                    del runs[oldest]

    def _begin(self, event: Any) -> Run:
        if self._run is None:
            self._main = event.run_id
            name = getattr(event, "agent_name", None) or getattr(event, "team_name", None)
            goes_on = event.event.removeprefix("Team") == "RunContinued"
            self._run = Run(
                self.voice,
                run=event.run_id,
                name=name or None,
                model=getattr(event, "model", None) or None,
                prefix=f"{secrets.token_hex(4)}-" if goes_on else "",
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
            self._content(run, event, agent, kind)
        elif kind == "ReasoningContentDelta":
            run.thinking(event.reasoning_content, agent)
        elif kind == "ToolCallArgsDelta":
            self._writes(run, event, agent)
        elif kind.startswith("ToolCall"):
            self._tool(run, kind, event, agent)
        elif kind == "ModelRequestStarted":
            self._settle(run, lambda asked: asked.agent == agent)
        elif kind == "ModelRequestCompleted":
            run.end_text(agent)
            counts = [event.input_tokens, event.output_tokens, event.reasoning_tokens, event.cache_read_tokens]
            run.usage(*[count or 0 for count in counts], agent=agent)
        elif kind == "RunPaused":
            self._pause(run, event, agent)
        elif kind == "RunContinued":
            self._is_paused = False
            self._asked |= _paused.get(self._publisher, {}).pop(event.run_id, {})
        elif kind in ("RunCompleted", "RunError", "RunCancelled"):
            self._end(run, kind, event, agent)
        elif kind == "CustomEvent":
            run.custom(type(event).__name__, event.to_dict(), agent)
        elif kind == "ReasoningStep":
            pass  # its text came in pieces
        elif not kind.removesuffix("Started").removesuffix("Completed").endswith(QUIET):
            run.custom(kind, event.to_dict(), agent)

    def _pause(self, run: Run, event: Any, agent: str | None) -> None:
        """The run waits for a person: for consent, for values, or for somebody who executes a call."""
        self._is_paused = True
        run.end_text(agent)
        of_members = [requirement.tool_execution for requirement in getattr(event, "requirements", None) or []]
        for tool in [*(event.tools or []), *of_members]:
            call = tool and (tool.tool_call_id or tool.tool_name)
            if not call:
                continue
            run.tool_call(call, tool.tool_name, tool.tool_args or {}, agent, changed=True)
            if tool.result is not None:
                run.tool_result(call, tool.result, is_error=bool(tool.tool_call_error), agent=agent)
                self._asked.pop(call, None)
            elif call not in self._asked and tool.is_paused:
                wants = (
                    "consent" if tool.requires_confirmation else "values" if tool.requires_user_input else "execution"
                )
                self._asked[call] = Asked(tool, agent, wants)
                if wants != "execution":
                    names = ", ".join(field.name for field in tool.user_input_schema or [])
                    run.approval_request(call, f"needs {names}" if names else None, agent)

    def _settle(self, run: Run, is_meant: Callable[[Asked], bool]) -> None:
        """The model is asked again: a call that waited for consent and has not begun was rejected. Agno does not say so."""
        if self._is_paused:
            return
        for call, asked in list(self._asked.items()):
            if asked.wants == "consent" and is_meant(asked):
                del self._asked[call]
                run.approval_answer(call, False, asked.tool.confirmation_note, asked.agent)
            elif asked.wants == "execution" and asked.tool.result is not None:
                del self._asked[call]
                run.tool_result(call, asked.tool.result, agent=asked.agent)

    def _writes(self, run: Run, event: Any, agent: str | None) -> None:
        """More of a call's arguments."""
        index = getattr(event, "tool_call_index", None)
        place = getattr(event, "tool_call_id", None) or f"{agent}#{event.tool_call_name if index is None else index}"
        call = self._written.setdefault(place, getattr(event, "tool_call_id", None) or f"call-{secrets.token_hex(4)}")
        run.tool_start(call, event.tool_call_name or "", agent)
        run.tool_arguments(call, event.arguments_delta or "", agent)

    def _content(self, run: Run, event: Any, agent: str | None, kind: str) -> None:
        run.thinking(getattr(event, "reasoning_content", None) or "", agent)
        if isinstance(event.content, str) and event.content:
            if kind == "RunContent":
                self._streamed.add(event.run_id)
            run.text(event.content, agent)

    def _tool(self, run: Run, kind: str, event: Any, agent: str | None) -> None:
        tool = event.tool
        call = tool.tool_call_id or tool.tool_name
        if kind == "ToolCallStarted":
            if self._asked.pop(call, None) or tool.confirmed:
                run.approval_answer(call, True, agent=agent)
            run.tool_call(call, tool.tool_name, tool.tool_args or {}, agent, changed=True)
            run.tool_executing(call, agent)
            return
        failed = kind == "ToolCallError" or bool(tool.tool_call_error)
        output = tool.result if tool.result is not None else getattr(event, "error", None)
        hands_over = bool(tool.child_run_id) or (tool.tool_name or "").startswith(HAND_OVER)
        seconds = None if hands_over else getattr(tool.metrics, "duration", None)
        run.tool_result(call, output, is_error=failed, seconds=seconds, agent=agent)

    def _end(self, run: Run, kind: str, event: Any, agent: str | None) -> None:
        if agent is None:
            self._settle(run, lambda asked: True)
        if kind == "RunCompleted" and event.run_id not in self._streamed and isinstance(event.content, str):
            run.text(event.content, agent)
        if kind == "RunError":
            run.error(str(event.content), code=getattr(event, "error_type", None), agent=agent)
        status = {"RunCompleted": "complete", "RunError": "error"}.get(kind, "cancelled")
        if agent is None:
            run.end(status)  # type: ignore[arg-type]
        else:
            run.agent_end(agent, status)  # type: ignore[arg-type]
