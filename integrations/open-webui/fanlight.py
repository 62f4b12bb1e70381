"""
title: Fanlight
description: Talks to the agents of a Fanlight hub, or watches what others do there: text, reasoning, tools, sub-agents.
version: 0.1.0
required_open_webui_version: 0.6.0
requirements: httpx
"""

import asyncio
import html
import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import httpx
from pydantic import BaseModel, Field

Emit = Callable[[dict], Awaitable[Any]]
FINAL = ("complete", "error", "cancelled", "interrupted")
# Most forks of one chat that are looked for.
FORKS_MAX = 100
# Longest result in the document of a citation.
CITED_CHARS_MAX = 500


class Refused(Exception):
    """The hub said no, or was not there."""


class Pipe:
    class Valves(BaseModel):
        FANLIGHT_URL: str = Field("http://localhost:4600", description="Where the hub is.")
        FANLIGHT_TOKEN: str = Field("", description="Its token, if it asks for one.")
        WATCH: str = Field("", description="Conversations that can be watched, with commas between.")
        CONVERSATION_PREFIX: str = Field("open-webui-", description="Stands before the id of a chat: its conversation.")
        SHOW_TOOL_CITATIONS: bool = Field(True, description="Show results of tools as citations.")
        SHOW_TOOL_DETAILS: bool = Field(True, description="Show calls in the answer, to be opened.")
        SHOW_SUBAGENT_STATUS: bool = Field(True, description="Say when sub-agents begin and end.")
        REASONING: Literal["native", "details", "off"] = Field("native", description="How reasoning is shown.")
        RESULTS_IN: Literal["body", "attribute"] = Field("body", description="'attribute' for Open WebUI up to 0.8.")
        RESULT_CHARS_MAX: int = Field(20000, description="Longest result that is shown whole; 0: however long it is.")
        ASK_FOR_CONSENT: bool = Field(True, description="Ask before a call that needs a person's approval.")
        REQUEST_TIMEOUT: int = Field(300, description="Seconds without a word of the hub before it is given up.")

    def __init__(self) -> None:
        self.name = "Fanlight: "
        self.valves = self.Valves()

    def _client(self) -> httpx.AsyncClient:
        token = self.valves.FANLIGHT_TOKEN
        headers = {"authorization": f"Bearer {token}"} if token else {}
        # Comments come every 15 s: a line that is silent for longer is dead.
        timeout = httpx.Timeout(10, read=min(45, self.valves.REQUEST_TIMEOUT))
        return httpx.AsyncClient(base_url=self.valves.FANLIGHT_URL, headers=headers, timeout=timeout)

    async def pipes(self) -> list[dict]:
        """The agents of the hub, and the conversations that can be watched."""
        watched = [name.strip() for name in self.valves.WATCH.split(",") if name.strip()]
        models = [{"id": f"watch:{name}", "name": f"watch {name}"} for name in watched]
        try:
            async with self._client() as client:
                agents = (await client.get("/v1/agents")).json()["agents"]
        except (httpx.HTTPError, ValueError, KeyError) as error:
            return models or [{"id": "none", "name": f"not reached ({type(error).__name__})"}]
        return [{"id": agent["name"], "name": agent["name"]} for agent in agents] + models

    async def pipe(
        self,
        body: dict,
        __metadata__: dict | None = None,
        __event_emitter__: Emit | None = None,
        __event_call__: Emit | None = None,
        __task__: str | None = None,
    ) -> AsyncIterator[Any]:
        said = last_message(body)
        if __task__:
            # Titles and tags are no turn of an agent.
            yield json.dumps({"title": said[:50]}) if "title" in __task__ else ""
            return
        emit = __event_emitter__ or nothing
        chat = (__metadata__ or {}).get("chat_id") or uuid.uuid4().hex
        agent = body.get("model", "").split(".", 1)[-1]
        watched = agent.removeprefix("watch:") if agent.startswith("watch:") else None
        told = Told(self.valves, emit, bool(body.get("stream")))
        # Chats that are not kept have a colon in their id.
        conversation = watched or f"{self.valves.CONVERSATION_PREFIX}{chat}".replace(":", "-")
        path = path_of(conversation)
        run = None
        try:
            async with self._client() as client:
                try:
                    after = ""
                    if not watched:
                        command = {"id": (__metadata__ or {}).get("message_id") or uuid.uuid4().hex}
                        command |= {"agent": agent, "text": said}
                        done = await self._say(client, conversation, history(body), command)
                        path = path_of(done["conversation"])
                        run, after = done["run"], f"{done['after']['epoch']}:{done['after']['seq']}"
                    told.whole = lambda ref: whole(client, path, ref)
                    await emit(status("Thinking...", False))
                    asks = Asks(client, path, __event_call__ if run and self.valves.ASK_FOR_CONSENT else None)
                    async for view in self._views(client, path, after, emit):
                        name = run or view.newest()
                        if name not in view.runs:
                            continue
                        async for piece in told.more(view.runs[name], view.status):
                            yield piece
                        asks.look(name, view.runs[name])
                        if told.is_over:
                            return
                except asyncio.CancelledError:
                    # The stop button.
                    if run:
                        await post(client, f"{path}/commands", {"id": uuid.uuid4().hex, "command": "stop", "run": run})
                    await emit(status("Stopped", True))
                    raise
        except (Refused, httpx.HTTPError) as error:
            await emit(status("Failed", True))
            yield told.failure(f"Fanlight: {str(error) or type(error).__name__}")

    async def _say(self, client: httpx.AsyncClient, base: str, turns: list["Exchange"], command: dict) -> dict:
        """Has the agent answer the newest question, in the conversation of the chat that has the history before it. One
        that was edited or is asked again is a fork: what was said stays as it was, and the agent is not told of it."""
        best, best_score, free = None, (-1, -1, False, -1), base
        for number in range(1, FORKS_MAX + 1):
            name = f"{base}-{number}" if number > 1 else base
            known = await asked_in(client, name)
            free = name
            if known is None:
                break
            asked, answered = in_common(turns[:-1], known)
            is_end = asked == len(known)
            score = (asked, answered, is_end, number)
            if score > best_score:
                best, best_score = (name, None if is_end else known[asked].message), score
        else:
            # The hub makes up a name.
            free = ""
        name, before = best or (base, None)
        if before is None:
            return await post(client, f"{path_of(name)}/commands", command | {"command": "say"})
        command |= {"command": "fork", "before": before} | ({"into": free} if free else {})
        return await post(client, f"{path_of(name)}/commands", command)

    async def _views(self, client: httpx.AsyncClient, path: str, after: str, emit: Emit) -> AsyncIterator["View"]:
        """The conversation each time that it has changed. Goes on behind a cut, without a hole."""
        view, wait, heard, is_cut = View(), 0.25, time.monotonic(), False
        while True:
            headers = {"accept": "text/event-stream"} | ({"last-event-id": after} if after else {})
            try:
                async with client.stream("GET", f"{path}/events", headers=headers) as answer:
                    if answer.status_code >= 500:
                        raise httpx.RemoteProtocolError(f"the hub answers {answer.status_code}")
                    if answer.status_code >= 400:
                        raise Refused(problem(await answer.aread()))
                    place, payload = "", ""
                    async for line in answer.aiter_lines():
                        heard, wait = time.monotonic(), 0.25
                        if is_cut:
                            is_cut = False
                            await emit(status(view.status or "Connected again", False))
                        if line.startswith("id:"):
                            place = line[3:].strip()
                        elif line.startswith("data:"):
                            payload += line[5:]
                        elif not line and payload:
                            changed = view.take(json.loads(payload))
                            after, place, payload = place or after, "", ""
                            if changed:
                                yield view
            except httpx.TransportError as error:
                if time.monotonic() - heard > self.valves.REQUEST_TIMEOUT:
                    raise Refused(f"{self.valves.FANLIGHT_URL} is not reached: {error}") from error
                if not is_cut:
                    is_cut = True
                    await emit(status("Connecting again...", False))
            await asyncio.sleep(wait)
            wait = min(wait * 2, 4)


class Exchange(NamedTuple):
    """A question and what was answered, and the question's name in the hub."""

    question: str
    answer: str
    message: str = ""


def history(body: dict) -> list[Exchange]:
    """What was asked and answered in the branch of the chat that is shown; the last question has no answer."""
    turns: list[Exchange] = []
    for message in body.get("messages", []):
        if message.get("role") == "user":
            turns.append(Exchange(text_of(message), ""))
        elif message.get("role") == "assistant" and turns:
            turns[-1] = turns[-1]._replace(answer=turns[-1].answer + text_of(message))
    return turns or [Exchange("", "")]


async def asked_in(client: httpx.AsyncClient, name: str) -> list[Exchange] | None:
    """What was asked and answered in a conversation; nothing where there is none of that name."""
    try:
        answer = await client.get(path_of(name))
    except httpx.TransportError as error:
        raise Refused(f"{client.base_url} is not reached: {error or type(error).__name__}") from error
    if answer.status_code == 404:
        return None
    if answer.status_code >= 400:
        raise Refused(problem(answer.content))
    state = answer.json()
    turns: list[Exchange] = []
    for item in state["items"]:
        message, run = state["messages"].get(item.get("message")), state["runs"].get(item.get("run"))
        if message and message["role"] == "user":
            turns.append(Exchange(message["text"], "", item["message"]))
        elif run and turns:
            parts = [part for part in run["parts"].values() if part["kind"] == "text" and part.get("agent") is None]
            said = "".join(part["text"] for part in parts)
            turns[-1] = turns[-1]._replace(answer=turns[-1].answer + said)
    return turns


def in_common(told: list[Exchange], known: list[Exchange]) -> tuple[int, int]:
    """How many of the known questions were asked in this branch, from the first one on, and how many of their answers are
    the same. Others may stand between them in the branch: those that another model has answered."""
    asked = answered = 0
    rest = iter(told)
    for other in known:
        # Open WebUI may have put what it found into the question that it passed on.
        one = next((one for one in rest if bare(one.question) in bare(other.question)), None)
        if one is None:
            break
        asked += 1
        mine, theirs = bare(one.answer), bare(other.answer)
        if answered == asked - 1 and (mine in theirs or theirs in mine):
            answered += 1
    return asked, answered


def bare(text: str) -> str:
    """The words alone: clients leave blocks out, and join texts in their own ways."""
    return "".join(re.sub(r"<details.*?</details>", "", text, flags=re.DOTALL).split())


def path_of(conversation: str) -> str:
    return f"/v1/conversations/{quote(conversation, safe='')}"


async def whole(client: httpx.AsyncClient, path: str, ref: dict) -> Any:
    """A result that was too large for its event; nothing where the hub does not have it any more."""
    try:
        answer = await client.get(f"{path}/results/{quote(ref['hash'], safe='')}")
        return answer.json() if answer.status_code == 200 else None
    except (httpx.HTTPError, ValueError):
        return None


class View:
    """A conversation, folded from the hub's frames as far as it is shown here."""

    def __init__(self) -> None:
        self.runs: dict[str, dict] = {}
        self.status = ""
        self.coming: dict | None = None

    def newest(self) -> str:
        return next(reversed(self.runs), "")

    def take(self, frame: dict) -> bool:
        """Whether anything may have changed."""
        if frame.get("t") == "snap":
            self.coming = (self.coming or {}) | frame["state"]["runs"]
            if not frame.get("more"):
                self.runs, self.coming = self.coming, None
            return not frame.get("more")
        for event in frame.get("ev", []) if frame.get("t") == "batch" else []:
            self.fold(event)
        return frame.get("t") == "batch"

    def fold(self, event: dict) -> None:
        kind = event["k"]
        if kind == "message" or not event.get("run"):
            return
        run = self.runs.setdefault(event["run"], {})
        for name in ("parts", "tools", "agents"):
            run.setdefault(name, {})
        items, at = run.setdefault("items", []), event.get("producer_at") or event.get("at") or 0
        if kind == "run.start":
            run |= {"status": "running", "error": None}
        elif kind == "run.end":
            run["status"] = event["status"]
        elif kind == "error":
            run["error"] = event
        elif kind == "status":
            self.status = event["text"]
        elif kind.startswith("agent."):
            agent = run["agents"].setdefault(event["agent"], {"status": "running", "name": event.get("name")})
            agent["status"] = event.get("status", "running")
        elif "part" in event:
            if event["part"] not in run["parts"]:
                items.append({"part": event["part"]})
            new = {"kind": "text", "agent": event.get("agent"), "text": "", "started_at": at, "ended_at": None}
            part = run["parts"].setdefault(event["part"], new)
            if kind == "part.start":
                part["kind"] = event["kind"]
            elif kind == "part.delta":
                part["text"] += event["text"]
            elif kind == "part.replace":
                part["text"] = event["text"]
            elif kind == "part.end":
                part |= {"ended_at": at, "duration_ms": event.get("duration_ms")}
        elif "tool" in event:
            if event["tool"] not in run["tools"]:
                items.append({"tool": event["tool"]})
            new = {"name": "", "agent": event.get("agent"), "state": "writing", "arguments": {"text": ""}}
            fold_tool(kind, event, run["tools"].setdefault(event["tool"], new))


def fold_tool(kind: str, event: dict, tool: dict) -> None:
    tool["name"] = event.get("name") or tool["name"]
    if kind == "tool.args":
        tool["arguments"]["text"] += event["text"]
    elif kind == "tool.call":
        arguments = event.get("arguments", tool["arguments"]["text"])
        tool["arguments"]["text"] = arguments if isinstance(arguments, str) else json.dumps(arguments)
        tool["state"] = "pending"
    elif kind == "tool.state":
        tool["state"] = event["state"]
    elif kind == "tool.progress":
        count = f"{event['current']}/{event['total']}: " if "current" in event and "total" in event else ""
        tool["progress"] = count + event.get("text", "")
    elif kind == "tool.result":
        tool |= {"state": "error" if event.get("is_error") else "complete", "result": event.get("output")}
        tool["result_ref"] = event.get("ref")
        tool |= {name: event.get(name) for name in ("files", "embeds", "is_error")}
    elif kind == "approval.request":
        tool |= {"state": "approval", "question": event.get("text")}
    elif kind == "approval.answer":
        tool["state"] = "pending" if event.get("approved") else "cancelled"


class Told:
    """What Open WebUI has been told of a run. Content only grows: a block is written once, when its call is over."""

    def __init__(self, valves: Pipe.Valves, emit: Emit, streams: bool) -> None:
        self.valves, self.emit, self.streams = valves, emit, streams
        self.texts: dict[str, str] = {}
        self.states: dict[str, Any] = {}
        self.blocks: list[str] = []
        self.files: list = []
        self.whole: Callable[[dict], Awaitable[Any]] | None = None
        self.has_content = False
        self.at_line_start = True
        self.is_over = False

    async def more(self, run: dict, word: str) -> AsyncIterator[Any]:
        is_over = run.get("status", "running") != "running" and not will_go_on(run)
        if self.news("status", word) and word:
            await self.emit(status(word, False))
        for name, agent in run.get("agents", {}).items():
            await self.agent(name, agent)
        for item in run.get("items", []):
            if tool := run["tools"].get(item.get("tool")):
                await self.tool(item["tool"], tool, is_over)
            elif (part := run["parts"].get(item.get("part"))) and part["agent"] is None:
                if self.is_block(item["part"], part) and self.news(f"thinks {item['part']}", True):
                    await self.emit(status("Thinking...", False))
                for piece in self.part(item["part"], part, is_over):
                    yield piece
        if is_over or not any(is_open(part) for part in run.get("parts", {}).values()):
            for piece in self.take_blocks():
                yield piece
        if is_over and not self.is_over:
            self.is_over = True
            await self.emit(status(run["status"].capitalize(), True))
            if run["status"] == "error":
                yield self.failure((run.get("error") or {}).get("message") or "The run failed.")

    def failure(self, text: str) -> Any:
        return {"error": {"detail": text}} if self.streams else f"\n\n> **Error** {text}\n"

    def news(self, name: str, state: Any) -> bool:
        """Whether that is another state than the last."""
        was, self.states[name] = self.states.get(name), state
        return was != state

    async def agent(self, name: str, agent: dict) -> None:
        if self.news(f"agent {name}", agent["status"]) and self.valves.SHOW_SUBAGENT_STATUS:
            is_done = agent["status"] != "running"
            word = "Sub-agent completed" if is_done else f"🤖 Sub-agent: {agent.get('name') or name}..."
            await self.emit(status(word, is_done))

    def is_block(self, name: str, part: dict) -> bool:
        """Whether that is reasoning for a block in the answer: Open WebUI puts all that is native before the answer."""
        is_behind = name not in self.texts and (self.has_content or bool(self.blocks))
        is_native = self.valves.REASONING == "native" and self.streams and not is_behind
        return part["kind"] == "thinking" and self.valves.REASONING != "off" and not is_native

    def part(self, name: str, part: dict, is_over: bool) -> list:
        text, said = part["text"], self.texts.get(name, "")
        is_whole = part["ended_at"] is not None or is_over
        if self.is_block(name, part):
            if is_whole and text and self.news(f"thought {name}", True):
                self.blocks.append(reasoning(part))
            return []
        if part["kind"] == "file":
            is_shown = text.startswith(("data:image/", "https://", "http://"))
            return self.write(f"\n![image]({text})\n") if is_shown and is_whole and self.news(name, True) else []
        if text.startswith(said):
            fresh = text[len(said) :]
        elif said.startswith(text):
            # The hub died and has forgotten the last words; they will be said again, or others.
            return []
        else:
            fresh = f"\n\n{text}"
        if not fresh:
            return []
        self.texts[name] = text
        if part["kind"] != "thinking":
            return self.take_blocks() + self.write(fresh) if not said else self.write(fresh)
        if self.valves.REASONING == "off":
            return []
        is_next = not said and self.news("reasoning", name) and len(self.texts) > 1
        return [chunk(reasoning_content=f"\n\n{fresh}" if is_next else fresh)]

    def write(self, text: str) -> list:
        self.has_content = True
        self.at_line_start = text.endswith("\n")
        # As a text alone it would be taken for a line of a stream if it begins with `data:`.
        return [chunk(content=text)] if self.streams else [text]

    def take_blocks(self) -> list:
        blocks, self.blocks = self.blocks, []
        # A block must begin a line, and text behind it another one.
        return [
            piece for block in blocks for piece in self.write(("" if self.at_line_start else "\n\n") + block + "\n")
        ]

    async def tool(self, name: str, tool: dict, is_over: bool) -> None:
        if tool.get("progress") and self.news(f"progress {name}", tool["progress"]):
            await self.emit(status(f"🔧 {tool['name']}: {tool['progress']}", False))
        is_done = tool["state"] in FINAL or is_over
        if not self.news(f"tool {name}", "done" if is_done else tool["state"]) or tool["state"] == "writing":
            return
        if tool["state"] == "approval" and not is_done:
            await self.emit(status(f"🔧 {tool['name']} waits for approval", False))
        if tool["state"] == "executing" and not is_done:
            await self.emit(status(f"🔧 {tool['name']}...", False))
        if not is_done:
            return
        is_cut = bool(tool.get("result_cut"))
        if ref := tool.get("result_ref"):
            # Only its beginning came with the event.
            result = await self.whole(ref) if self.whole else None
            is_cut = result is None
            tool = tool if is_cut else tool | {"result": result}
        result = outcome(tool)
        most = self.valves.RESULT_CHARS_MAX or len(result)
        shown = shortened(result, most)
        if is_cut and shown == result:
            shown += "..."
        if self.valves.SHOW_TOOL_CITATIONS:
            source = {"source": {"name": f"🔧 {tool['name']}"}, "document": [shortened(shown, CITED_CHARS_MAX)]}
            source["metadata"] = [{"source": tool["name"], "full_result": shown}]
            await self.emit({"type": "source", "data": source})
        if tool.get("files"):
            self.files += tool["files"]
            await self.emit({"type": "files", "data": {"files": self.files}})
        if tool.get("embeds"):
            await self.emit({"type": "embeds", "data": {"embeds": tool["embeds"]}})
        if self.valves.SHOW_TOOL_DETAILS and tool["agent"] is None:
            self.blocks.append(details(name, tool, shown, self.valves.RESULTS_IN == "body", self.emit is nothing))


class Asks:
    """Asks the person for approval where a call waits for it."""

    def __init__(self, client: httpx.AsyncClient, path: str, call: Emit | None) -> None:
        self.client, self.path, self.call = client, path, call
        self.asked: dict[str, asyncio.Task] = {}
        self.tools: dict[str, dict] = {}
        # The page has one dialog: a second question takes the place of the first, which is never answered.
        self.dialog = asyncio.Lock()

    def look(self, run: str, state: dict) -> None:
        self.tools = state.get("tools", {})
        for name, tool in self.tools.items():
            if self.call and tool["state"] == "approval" and name not in self.asked:
                self.asked[name] = asyncio.create_task(self.ask(run, name, tool))

    async def ask(self, run: str, name: str, tool: dict) -> None:
        question = plain(tool["question"]) if tool.get("question") else ""
        message = f"{question}\n\n{fenced(tool['arguments']['text'] or '{}')}"
        asked = {"title": f"May {tool['name']} be called?", "message": message}
        async with self.dialog:
            if self.tools.get(name, tool)["state"] != "approval":
                return
            answer = await self.call({"type": "confirmation", "data": asked})
        command = {"id": uuid.uuid4().hex, "command": "approve" if answer else "reject", "run": run, "tool": name}
        try:
            await post(self.client, f"{self.path}/commands", command)
        except (Refused, httpx.HTTPError):
            # Somebody else has answered; the events say what came of it.
            pass


async def nothing(event: dict) -> None:
    """For calls without a page, through Open WebUI's API."""


async def post(client: httpx.AsyncClient, path: str, command: dict) -> dict:
    try:
        answer = await client.post(path, json=command)
    except httpx.TransportError as error:
        raise Refused(f"{client.base_url} is not reached: {error or type(error).__name__}") from error
    if answer.status_code >= 400:
        raise Refused(problem(answer.content))
    return answer.json()


def problem(body: bytes) -> str:
    try:
        told = json.loads(body)
        return told.get("detail") or told.get("code") or body.decode()
    except ValueError:
        return body.decode(errors="replace")[:500]


def last_message(body: dict) -> str:
    for message in reversed(body.get("messages", [])):
        if message.get("role") == "user":
            return text_of(message)
    return ""


def text_of(message: dict) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")


def chunk(**delta: str) -> dict:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def status(description: str, done: bool) -> dict:
    return {"type": "status", "data": {"description": description, "done": done}}


def will_go_on(run: dict) -> bool:
    """A run of a hub that stopped goes on when it is back."""
    return run.get("status") == "interrupted" and (run.get("error") or {}).get("code") == "hub_stopped"


def is_open(part: dict) -> bool:
    return part["agent"] is None and part["kind"] != "thinking" and part["ended_at"] is None


def outcome(tool: dict) -> str:
    result = tool.get("result")
    if result is None or result == "":
        return "completed" if tool["state"] == "complete" else "not executed"
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    # Some tools say so themselves.
    return f"Error: {text}" if tool.get("is_error") and not text.startswith("Error: ") else text


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def escaped(text: str) -> str:
    """Without a sign that ends an attribute, a tag or a line."""
    return html.escape(text).replace("\r", "&#13;").replace("\n", "&#10;").replace("\t", "&#9;")


def plain(text: str) -> str:
    """As Markdown that shows just this text: a question must not load images, or show other words than are there."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def fenced(text: str) -> str:
    """As a block of code that nothing in it can end."""
    fence = "`" * max([2, *map(len, re.findall("`+", text))]) + "`"
    return f"{fence}json\n{text}\n{fence}"


def details(name: str, tool: dict, result: str, in_body: bool, is_alone: bool) -> str:
    """A call, to be opened. It has its files only where it `is_alone`, without events: they would be shown twice."""
    whole = tool.get("result")
    is_whole = isinstance(whole, (dict, list)) and json.dumps(whole, ensure_ascii=False) == result
    said = escaped(result if is_whole else json.dumps(result, ensure_ascii=False))
    tag = f'<details type="tool_calls" done="true" id="{escaped(name)}" name="{escaped(tool["name"])}"'
    tag += f' arguments="{escaped(tool["arguments"]["text"] or "{}")}"'
    tag += "" if in_body else f' result="{said}"'
    for word in ("files", "embeds"):
        if is_alone and tool.get(word):
            tag += f' {word}="{escaped(json.dumps(tool[word]))}"'
    body = f"{said}\n" if in_body else ""
    return f"{tag}>\n<summary>Tool Executed</summary>\n{body}</details>\n"


def reasoning(part: dict) -> str:
    measured = max((part["ended_at"] or part["started_at"]) - part["started_at"], 0)
    seconds = round((part.get("duration_ms") or measured) / 1000)
    quoted = "".join(f"&gt; {escaped(line)}\n" for line in part["text"].splitlines())
    head = f'<details type="reasoning" done="true" duration="{seconds}">\n'
    return f"{head}<summary>Thought for {seconds} seconds</summary>\n{quoted}</details>\n"
