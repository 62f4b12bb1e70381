"""Runs the pipe as Open WebUI does: loads it from its text, gives it a body, and writes down all that it gives and says.

Arguments: the file of the pipe, its valves as JSON, the model, what is said (a text, or an object with `chat`, `answer` for the id
of what is answered, and all `messages` of the branch), and how many calls wait for consent before the person answers the first
question. One line of JSON for each thing: `models`,
`piece`, `event`, `call`, and `end` with the content and the reasoning as Open WebUI puts them together.
"""

import asyncio
import json
import sys
import types


def say(**fields):
    print(json.dumps(fields), flush=True)


def load(path):
    """As `load_function_module_by_id`: the module is not imported, its text is executed."""
    module = types.ModuleType("function_fanlight")
    with open(path, encoding="utf-8") as file:
        exec(file.read(), module.__dict__)
    return module.Pipe()


def line(piece):
    """As `process_line` of `functions.py`."""
    if isinstance(piece, dict):
        return f"data: {json.dumps(piece)}"
    if piece.startswith("data:"):
        return piece
    return f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]})}"


class Page:
    """Has one dialog: a second question takes the place of the first, which is then never answered."""

    def __init__(self, calls):
        self.calls, self.waiting, self.questions = calls, 0, 0
        self.changed = asyncio.Condition()

    async def emit(self, event):
        say(event=event)
        async with self.changed:
            self.waiting += "waits for approval" in str(event)
            self.changed.notify_all()

    async def call(self, event):
        say(call=event)
        self.questions += 1
        mine = self.questions
        async with self.changed:
            await self.changed.wait_for(lambda: self.waiting >= self.calls)
        for _ in range(9):
            # Whoever would ask as well does so first.
            await asyncio.sleep(0)
        if mine != self.questions:
            await asyncio.Event().wait()
        return True


async def main():
    path, valves, model, text, calls = sys.argv[1:]
    page = Page(int(calls))
    pipe = load(path)
    pipe.valves = pipe.Valves(**json.loads(valves))
    say(models=await pipe.pipes())
    asked = {"chat": "local:1", "answer": "m1", "messages": [{"role": "user", "content": text}]}
    if text.startswith("{"):
        asked = json.loads(text)
    body = {"model": f"fanlight.{model}", "stream": True, "messages": asked["messages"]}
    metadata = {"chat_id": asked["chat"], "message_id": asked["answer"], "session_id": "s"}
    told = {"content": "", "reasoning_content": ""}
    given = pipe.pipe(body, __metadata__=metadata, __event_emitter__=page.emit, __event_call__=page.call, __task__=None)
    async for piece in given:
        say(piece=piece)
        data = json.loads(line(piece).removeprefix("data:"))
        if not data.get("choices"):
            told["error"] = data.get("error")
            continue
        for name, more in data["choices"][0]["delta"].items():
            told[name] += more
    say(end=told)


asyncio.run(main())
