"""What an agent does, said in events, for those who would rather not write events. All adapters are made of it.

Nothing here ever raises or waits: what cannot be published is counted, and logged once.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
from collections.abc import Mapping
from typing import Any, Literal, Protocol, cast

from .types import Event

Status = Literal["complete", "error", "cancelled", "interrupted"]
"""How a run ends."""
PartKind = Literal["text", "thinking", "refusal"]

log = logging.getLogger("fanlight")


class Offers(Protocol):
    """Whatever takes events without waiting: a ``Publisher`` on its own loop, a ``SyncPublisher`` anywhere."""

    def offer(self, *events: Event) -> None:
        """Takes events or raises."""


class Voice:
    """Says events through a publisher and keeps its troubles from the agent."""

    def __init__(self, publisher: Offers) -> None:
        self._publisher = publisher
        self.unsaid = 0
        """Events that could not be published."""

    def say(self, *events: Event) -> None:
        """Publishes events, or counts them."""
        try:
            self._publisher.offer(*events)
        except Exception:
            self.trouble(len(events))

    def trouble(self, count: int = 1) -> None:
        """Notes the exception that is being handled, and logs the first."""
        self.unsaid += count
        if self.unsaid == count:
            log.warning("what the agent does is not published; said once", exc_info=True)


class _Call:
    def __init__(self) -> None:
        self.arguments: str | None = None
        self.pending_at: float | None = None
        self.executing_at: float | None = None
        self.is_over = False


class Run:
    """One execution of an agent. May be used from several threads."""

    def __init__(
        self,
        voice: Voice | Offers,
        *,
        run: str | None = None,
        name: str | None = None,
        model: str | None = None,
        title: str | None = None,
        host: str | None = None,
        prefix: str = "",
    ) -> None:
        """``run`` may be one that has ended: it goes on. ``prefix`` then keeps its new texts apart from its old ones. ``host`` is
        the name of the machine, such as ``platform.node()``; nobody is told one unless you say it."""
        self.voice = voice if isinstance(voice, Voice) else Voice(voice)
        self.id = run or secrets.token_hex(8)
        self._lock = threading.RLock()
        self._calls: dict[str, _Call] = {}
        self._open: dict[str | None, tuple[str, PartKind]] = {}
        self._parts = 0
        self._prefix = prefix
        self._messages = 0
        self._model = model
        self.is_over = False
        self._say({"k": "run.start", "name": name, "model": model, "title": title, "host": host})

    def _say(self, event: dict[str, Any], agent: str | None = None) -> None:
        event["run"] = self.id
        if agent is not None:
            event["agent"] = agent
        self.voice.say(cast(Event, {name: value for name, value in event.items() if value is not None}))

    def message(self, role: str, text: str) -> None:
        """A message of the history: what the user asked, the instructions."""
        with self._lock:
            self._messages += 1
            self._say(
                {"k": "message", "message": f"{self.id}-{self._prefix}m{self._messages}", "role": role, "text": text}
            )

    def model(self, model: str | None) -> None:
        """The model that answers from now on."""
        with self._lock:
            if model and model != self._model:
                self._model = model
                self._say({"k": "run.update", "model": model})

    def text(self, delta: str, agent: str | None = None) -> None:
        """More of the answer."""
        self._delta("text", delta, agent)

    def thinking(self, delta: str, agent: str | None = None) -> None:
        """More of the reasoning."""
        self._delta("thinking", delta, agent)

    def refusal(self, delta: str, agent: str | None = None) -> None:
        """More of why the model declines."""
        self._delta("refusal", delta, agent)

    def _delta(self, kind: PartKind, delta: str, agent: str | None) -> None:
        if not delta:
            return
        with self._lock:
            part, known = self._open.get(agent, ("", None))
            if known != kind:
                self.end_text(agent)
                self._parts += 1
                part = f"{self._prefix}p{self._parts}"
                self._open[agent] = (part, kind)
                self._say({"k": "part.start", "part": part, "kind": kind}, agent)
            self._say({"k": "part.delta", "part": part, "text": delta}, agent)

    def end_text(self, agent: str | None = None) -> None:
        """The text or reasoning that this agent streams is whole."""
        with self._lock:
            open_part = self._open.pop(agent, None)
            if open_part is not None:
                self._say({"k": "part.end", "part": open_part[0]}, agent)

    def tool_start(self, call: str, name: str, agent: str | None = None) -> None:
        """The model begins to write a call."""
        with self._lock:
            if call not in self._calls:
                self._calls[call] = _Call()
                self.end_text(agent)
                self._say({"k": "tool.start", "tool": call, "name": name}, agent)

    def tool_arguments(self, call: str, delta: str, agent: str | None = None) -> None:
        """More of a call's arguments."""
        if delta:
            self._say({"k": "tool.args", "tool": call, "text": delta}, agent)

    def tool_call(
        self, call: str, name: str, arguments: Any, agent: str | None = None, *, changed: bool = False
    ) -> None:
        """A call is written: it waits to be executed. Arguments may be JSON text or anything that becomes it.

        A call that was written is not written again, but with ``changed``: a person may have filled other arguments in.
        """
        with self._lock:
            known = self._calls.setdefault(call, _Call())
            text = arguments if isinstance(arguments, str) else json.dumps(plain(arguments), ensure_ascii=False)
            if known.pending_at is None:
                known.pending_at = time.monotonic()
                self.end_text(agent)
            elif not changed or known.arguments == text:
                return
            known.arguments = text
            self._say({"k": "tool.call", "tool": call, "name": name, "arguments": text}, agent)

    def approval_request(self, call: str, text: str | None = None, agent: str | None = None) -> None:
        """A call waits for a person, who is asked ``text``."""
        self._say({"k": "approval.request", "tool": call, "text": text}, agent)

    def approval_answer(self, call: str, approved: bool, text: str | None = None, agent: str | None = None) -> None:
        """The person has answered; a call that was rejected is over."""
        with self._lock:
            known = self._calls.setdefault(call, _Call())
            if not known.is_over:
                known.is_over = not approved
                self._say({"k": "approval.answer", "tool": call, "approved": approved, "text": text}, agent)

    def tool_executing(self, call: str, agent: str | None = None) -> None:
        """A call begins to be executed."""
        with self._lock:
            known = self._calls.setdefault(call, _Call())
            if known.executing_at is None and not known.is_over:
                known.executing_at = time.monotonic()
                event = {"k": "tool.state", "tool": call, "state": "executing", "queued_ms": _queued_ms(known)}
                self._say(event, agent)

    def tool_result(
        self, call: str, output: Any, *, is_error: bool = False, seconds: float | None = None, agent: str | None = None
    ) -> None:
        """What a call gave back. Its latency is ``seconds``, else that between this and the beginning of its execution."""
        with self._lock:
            known = self._calls.setdefault(call, _Call())
            if known.is_over:
                return
            known.is_over = True
            event = {"k": "tool.result", "tool": call, "is_error": is_error or None, "queued_ms": _queued_ms(known)}
            if seconds is not None:
                event["exec_ms"] = _ms(seconds)
            elif known.executing_at is not None:
                event["exec_ms"] = _ms(time.monotonic() - known.executing_at)
            event["output"] = plain(output) if output is not None else ""
            self._say(event, agent)

    def agent_start(
        self,
        agent: str,
        name: str | None,
        *,
        parent: str | None = None,
        tool: str | None = None,
        text: str | None = None,
    ) -> None:
        """A sub-agent begins; what it does is said with its id as ``agent``."""
        self._say({"k": "agent.start", "name": name, "parent": parent, "tool": tool, "text": text}, agent)

    def agent_end(self, agent: str, status: Status = "complete") -> None:
        """A sub-agent is done."""
        with self._lock:
            self.end_text(agent)
            self._say({"k": "agent.end", "status": status}, agent)

    def usage(
        self,
        input_tokens: int = 0,
        output_tokens: int = 0,
        reasoning_tokens: int = 0,
        cached_tokens: int = 0,
        *,
        agent: str | None = None,
    ) -> None:
        """Tokens of one more call of the model: they count for the run, and for the sub-agent that is named."""
        usage = {"input_tokens": input_tokens, "output_tokens": output_tokens}
        usage |= {"reasoning_tokens": reasoning_tokens, "cached_tokens": cached_tokens}
        self._say({"k": "run.update", "usage": usage}, agent)

    def status(self, text: str) -> None:
        """A line about what goes on."""
        self._say({"k": "status", "text": text})

    def custom(self, name: str, value: Any, agent: str | None = None) -> None:
        """An event of the agent's own."""
        self._say({"k": "custom", "name": name, "value": plain(value)}, agent)

    def error(self, error: BaseException | str, *, code: str | None = None, agent: str | None = None) -> None:
        """Something failed. It does not end the run by itself."""
        code = code or (type(error).__name__ if isinstance(error, BaseException) else "error")
        self._say({"k": "error", "code": code, "message": str(error)}, agent)

    def end(self, status: Status = "complete", *, finish_reason: str | None = None) -> None:
        """The run is over, and with it what is open in it."""
        with self._lock:
            if self.is_over:
                return
            self.is_over = True
            for agent in list(self._open):
                self.end_text(agent)
            self._say({"k": "run.end", "status": status, "finish_reason": finish_reason})

    def fail(self, error: BaseException) -> None:
        """The run is over with an error."""
        self.error(error)
        self.end("error")


def _queued_ms(call: _Call) -> int | None:
    if call.pending_at is None or call.executing_at is None:
        return None
    return _ms(call.executing_at - call.pending_at)


def _ms(seconds: float) -> int:
    return max(round(seconds * 1000), 0)


def plain(value: Any) -> Any:
    """``value`` as far as JSON can say it: objects as their members or their text."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        pass
    else:
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(member) for member in value]
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        try:
            return plain(dump(mode="json"))
        except Exception:
            return str(value)
    return str(value)
