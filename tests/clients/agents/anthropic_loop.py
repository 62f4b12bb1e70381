import json
from concurrent.futures import ThreadPoolExecutor

from anthropic import Anthropic
from tools import wait_for

TOOLS = [{
    "name": "look_up",
    "description": "The weather at a place",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
}]
client = Anthropic()
messages = []


def answer(call):
    result = {"type": "tool_result", "tool_use_id": call.id}
    try:
        return {**result, "content": wait_for(**call.input)}
    except ValueError as error:
        return {**result, "content": str(error), "is_error": True}


for question, streams in [("How is the weather?", True), ("Thank you!", False)]:
    messages.append({"role": "user", "content": question})
    while True:
        request = {"model": "claude-sonnet-5-5", "max_tokens": 4096, "messages": messages, "tools": TOOLS}
        if streams:
            with client.messages.stream(**request) as stream:
                said = stream.get_final_message()
        else:
            said = client.messages.create(**request)
        messages.append({"role": "assistant", "content": said.content})
        calls = [block for block in said.content if block.type == "tool_use"]
        if not calls:
            print(said.content[-1].text)
            break
        with ThreadPoolExecutor() as pool:
            messages.append({"role": "user", "content": list(pool.map(answer, calls))})
