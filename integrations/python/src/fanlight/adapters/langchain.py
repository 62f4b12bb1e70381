"""LangChain and LangGraph: a callback handler that shows what chains, models and tools do.

::

    from fanlight import SyncPublisher
    from fanlight.adapters.langchain import FanlightCallback

    with SyncPublisher("weather") as publisher:
        graph.invoke(question, config={"callbacks": [FanlightCallback(publisher)]})

Each call at the top is one run. What a tool runs inside of itself is a sub-agent. Texts come as the model streams them, if
it does: give it ``streaming=True`` or stream the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import LLMResult

from ..run import Offers, Run, Voice

Hook = TypeVar("Hook", bound=Callable[..., Any])

INTERRUPTS = frozenset({"GraphInterrupt", "NodeInterrupt", "GraphBubbleUp", "ParentCommand"})
"""What graphs raise to be stopped or led elsewhere: no failures."""


def _quiet(hook: Hook) -> Hook:
    """A hook that keeps its troubles from the agent."""

    @wraps(hook)
    def quiet(self: FanlightCallback, *args: Any, **kwargs: Any) -> None:
        try:
            hook(self, *args, **kwargs)
        except Exception:
            self.voice.trouble()

    return quiet  # type: ignore[return-value]


class _Step:
    """A chain, model or tool that runs: whose it is."""

    def __init__(self, run: Run, agent: str | None, kind: str) -> None:
        self.run = run
        self.agent = agent
        self.kind = kind
        self.call: str | None = None
        """Of a tool: the call that it answers."""
        self.begins_agent = False
        self.has_streamed = False
        self.calls: dict[Any, str] = {}
        """Of a model: the calls that it writes, by their index."""


class FanlightCallback(BaseCallbackHandler):
    """Publishes what chains, models and tools do. One may serve any number of calls at once."""

    # On the loop of the agent, in order; nothing here waits.
    run_inline = True

    def __init__(self, publisher: Offers) -> None:
        self.voice = Voice(publisher)
        self._steps: dict[UUID, _Step] = {}

    def _begin(self, kind: str, run_id: UUID, parent: UUID | None, name: str | None, model: str | None = None) -> _Step:
        above = self._steps.get(parent) if parent is not None else None
        if above is None:
            run = Run(self.voice, run=str(run_id), name=name, model=model)
            step = _Step(run, None, kind)
        else:
            step = _Step(above.run, above.agent, kind)
            if above.kind == "tool" and kind == "chain":
                step.agent = str(run_id)
                step.begins_agent = True
                step.run.agent_start(step.agent, name, parent=above.agent, tool=above.call)
        self._steps[run_id] = step
        return step

    def _end(self, run_id: UUID, parent: UUID | None, error: BaseException | None = None) -> None:
        step = self._steps.pop(run_id, None)
        if step is None:
            return
        stopped = error is not None and type(error).__name__ in INTERRUPTS
        failed = error is not None and not stopped
        if step.begins_agent and step.agent is not None:
            step.run.agent_end(step.agent, "error" if failed else "interrupted" if stopped else "complete")
        if parent is None or parent not in self._steps:
            if failed and error is not None:
                step.run.fail(error)
            elif stopped:
                step.run.status("waits for somebody outside of the graph")
                step.run.end("interrupted")
            else:
                step.run.end()

    @_quiet
    def on_chain_start(
        self,
        serialized: Mapping[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """A chain, a graph or a node of one begins."""
        name = kwargs.get("name") or (serialized or {}).get("name")
        is_top = parent_run_id not in self._steps
        step = self._begin("chain", run_id, parent_run_id, name)
        if is_top:
            for role, text in _history(inputs):
                step.run.message(role, text)

    @_quiet
    def on_chain_end(self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """It is done."""
        self._end(run_id, parent_run_id)

    @_quiet
    def on_chain_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """It failed."""
        self._end(run_id, parent_run_id, error)

    @_quiet
    def on_chat_model_start(
        self,
        serialized: Mapping[str, Any] | None,
        messages: Sequence[Sequence[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A model is asked."""
        model = (metadata or {}).get("ls_model_name") or (kwargs.get("invocation_params") or {}).get("model")
        is_top = parent_run_id not in self._steps
        step = self._begin("model", run_id, parent_run_id, None, model)
        if is_top:
            for role, text in _history({"messages": messages[0] if messages else []}):
                step.run.message(role, text)
        if step.agent is None:
            step.run.model(model)

    @_quiet
    def on_llm_start(
        self,
        serialized: Mapping[str, Any] | None,
        prompts: Sequence[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A model that only goes on with texts is asked."""
        self._begin("model", run_id, parent_run_id, None, (metadata or {}).get("ls_model_name"))

    @_quiet
    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **kwargs: Any) -> None:
        """More of what the model says."""
        step = self._steps.get(run_id)
        if step is None:
            return
        step.has_streamed = True
        message = getattr(chunk, "message", None)
        if message is None:
            step.run.text(token if isinstance(token, str) else "", step.agent)
            return
        self._say(step, message)
        for piece in getattr(message, "tool_call_chunks", None) or []:
            index = piece.get("index")
            if piece.get("id") and piece.get("name"):
                step.calls[index] = piece["id"]
                step.run.tool_start(piece["id"], piece["name"], step.agent)
            call = step.calls.get(index)
            if call is not None:
                step.run.tool_arguments(call, piece.get("args") or "", step.agent)

    def _say(self, step: _Step, message: BaseMessage) -> None:
        for block in message.content_blocks:
            if block["type"] == "text":
                step.run.text(block.get("text") or "", step.agent)
            elif block["type"] == "reasoning":
                step.run.thinking(block.get("reasoning") or "", step.agent)

    @_quiet
    def on_llm_end(
        self, response: LLMResult, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """The model has said all of it."""
        step = self._steps.get(run_id)
        if step is None:
            return
        generation = response.generations[0][0]
        message = getattr(generation, "message", None)
        if message is None:
            if not step.has_streamed:
                step.run.text(generation.text, step.agent)
        elif not step.has_streamed:
            self._say(step, message)
        step.run.end_text(step.agent)
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                step.run.tool_call(call["id"] or call["name"], call["name"], call["args"], step.agent)
            _usage(step, message.usage_metadata)
        self._end(run_id, parent_run_id)

    @_quiet
    def on_llm_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """The model failed."""
        step = self._steps.get(run_id)
        if step is not None and parent_run_id in self._steps:
            step.run.end_text(step.agent)
            step.run.error(error, agent=step.agent)
        self._end(run_id, parent_run_id, error)

    @_quiet
    def on_tool_start(
        self,
        serialized: Mapping[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: Mapping[str, Any] | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        """A tool begins."""
        name = kwargs.get("name") or (serialized or {}).get("name") or "tool"
        step = self._begin("tool", run_id, parent_run_id, name)
        step.call = tool_call_id or str(run_id)
        # One that no model asked for was never written.
        step.run.tool_call(step.call, name, dict(inputs) if inputs else input_str, step.agent)
        step.run.tool_executing(step.call, step.agent)

    @_quiet
    def on_tool_end(self, output: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """A tool gave something back."""
        step = self._steps.get(run_id)
        if step is not None and step.call is not None:
            message = _answer(output)
            failed = message is not None and message.status == "error"
            content = output if message is None else message.content
            step.run.tool_result(step.call, content, is_error=failed, agent=step.agent)
        self._end(run_id, parent_run_id)

    @_quiet
    def on_tool_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """A tool failed."""
        step = self._steps.get(run_id)
        if step is not None and step.call is not None and type(error).__name__ not in INTERRUPTS:
            step.run.tool_result(step.call, f"{type(error).__name__}: {error}", is_error=True, agent=step.agent)
        self._end(run_id, parent_run_id, error)


def _answer(output: Any) -> ToolMessage | None:
    """The message in what a tool gave back: itself, or the last of those that it adds to the state of its graph."""
    if isinstance(output, ToolMessage):
        return output
    update = getattr(output, "update", None)
    added = update.get("messages") if isinstance(update, Mapping) else None
    answers = [message for message in added or [] if isinstance(message, ToolMessage)]
    return answers[-1] if answers else None


def _history(inputs: Any) -> list[tuple[str, str]]:
    """Who said what before."""
    messages = inputs.get("messages") if isinstance(inputs, Mapping) else None
    if isinstance(messages, (str, BaseMessage, Mapping)):
        messages = [messages]
    roles = {"human": "user", "ai": "assistant"}
    said = []
    text: Any
    for message in messages or []:
        if isinstance(message, BaseMessage):
            role, text = message.type, str(message.text)
        elif isinstance(message, Mapping):
            role, text = str(message.get("role", "user")), message.get("content")
        elif isinstance(message, (tuple, list)) and len(message) == 2:
            role, text = message
        else:
            role, text = "user", message
        if isinstance(text, str) and text:
            said.append((roles.get(role, role), text))
    return said


def _usage(step: _Step, usage: Mapping[str, Any] | None) -> None:
    if usage:
        step.run.usage(
            usage.get("input_tokens", 0),
            usage.get("output_tokens", 0),
            (usage.get("output_token_details") or {}).get("reasoning", 0) or 0,
            (usage.get("input_token_details") or {}).get("cache_read", 0) or 0,
            agent=step.agent,
        )
