"""Reads the conversation `story` of a hub with other projects' clients and says what is wrong.

Usage: python read.py http://127.0.0.1:PORT
"""

import json
import subprocess
import sys
import tempfile
import traceback
import urllib.request

import anthropic
import openai
from langgraph_sdk import get_sync_client

HUB = sys.argv[1]
ANSWER = "It is 18 degrees in London ☂."


def base(dialect):
    return f"{HUB}/v1/conversations/story/stream/{dialect}"


def read_openai():
    client = openai.OpenAI(api_key="none", base_url=base("openai-chat"), max_retries=0)
    messages = [{"role": "user", "content": "?"}]
    with client.chat.completions.stream(model="any", messages=messages) as stream:
        for _event in stream:
            pass
        choice = stream.get_final_completion().choices[0]
    assert choice.message.content == ANSWER, choice
    assert choice.finish_reason == "stop", choice
    call = choice.message.tool_calls[0].function
    assert json.loads(call.arguments) == {"city": "London"}, call


def read_bernard():
    client = openai.OpenAI(api_key="none", base_url=base("bernard"), max_retries=0)
    text, result = "", ""
    messages = [{"role": "user", "content": "?"}]
    for chunk in client.chat.completions.create(model="any", messages=messages, stream=True):
        for choice in chunk.choices or []:
            if choice.delta.role == "tool":
                result += choice.delta.content
            else:
                text += choice.delta.content or ""
    assert (text, result) == (ANSWER, '{"temperature":18}'), (text, result)


def read_anthropic():
    client = anthropic.Anthropic(api_key="none", base_url=base("anthropic"), max_retries=0)
    messages = [{"role": "user", "content": "?"}]
    with client.messages.stream(model="any", max_tokens=100, messages=messages) as stream:
        message = stream.get_final_message()
    kinds = [block.type for block in message.content]
    assert kinds == ["thinking", "tool_use", "mcp_tool_result", "text"], kinds
    assert message.content[1].input == {"city": "London"}, message.content[1]
    assert message.content[-1].text == ANSWER, message.content[-1]
    assert (message.stop_reason, message.usage.output_tokens) == ("end_turn", 34), message


def read_langgraph():
    client = get_sync_client(url=base("langgraph"), api_key=None)
    modes = ["messages-tuple", "updates", "values", "custom", "debug"]
    text, states, nodes, events = "", [], [], []
    for part in client.runs.stream(None, "agent", input={"messages": []}, stream_mode=modes):
        events.append(part.event)
        if part.event == "messages":
            message, about = part.data
            assert about["langgraph_node"] == ("tools" if message["type"] == "tool" else "model"), about
            text += message["content"] if message["type"] == "AIMessageChunk" else ""
        elif part.event == "values":
            states.append(part.data["messages"])
        elif part.event == "updates":
            nodes += part.data
    assert (text, nodes) == (ANSWER, ["model", "tools", "model"]), (text, nodes)
    assert (events[0], set(events[1:])) == ("metadata", {"messages", "updates", "values", "custom", "debug"}), events
    # The stream is that of a run: what was said before it is not in it.
    assert [message["type"] for message in states[-1]] == ["ai", "tool", "ai"], states
    assert states[-1][0]["tool_calls"][0]["args"] == {"city": "London"}, states
    old = [
        part for part in client.runs.stream(None, "agent", stream_mode="messages") if part.event == "messages/complete"
    ]
    assert old[-1].data[0]["content"] == ANSWER, old


def validate_ag_ui():
    request = urllib.request.Request(base("ag-ui"), data=b"{}", method="POST")
    body = urllib.request.urlopen(request).read().decode()
    events = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("\n".join(events) + "\n")
        file.flush()
        done = subprocess.run(
            [sys.executable, "-m", "ag_ui_validate.cli", file.name], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr


def main():
    failed = 0
    for check in (read_openai, read_bernard, read_anthropic, read_langgraph, validate_ag_ui):
        try:
            check()
            print(f"ok   {check.__name__}")
        except Exception:  # all that a client may throw is what is looked for
            failed += 1
            print(f"FAIL {check.__name__}: {traceback.format_exc()}")
    sys.exit(1 if failed else 0)


main()
