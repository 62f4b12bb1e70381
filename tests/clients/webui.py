"""Runs the pipe as Open WebUI does: loads it from its text, gives it a body, and writes down all that it gives and says.

Arguments: the file of the pipe, its valves as JSON, the model, and what is said. One line of JSON for each thing: `models`,
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


async def emit(event):
    say(event=event)


async def call(event):
    say(call=event)
    return True


async def main():
    path, valves, model, text = sys.argv[1:]
    pipe = load(path)
    pipe.valves = pipe.Valves(**json.loads(valves))
    say(models=await pipe.pipes())
    body = {"model": f"fanlight.{model}", "stream": True, "messages": [{"role": "user", "content": text}]}
    metadata = {"chat_id": "local:1", "message_id": "m1", "session_id": "s"}
    told = {"content": "", "reasoning_content": ""}
    given = pipe.pipe(body, __metadata__=metadata, __event_emitter__=emit, __event_call__=call, __task__=None)
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
