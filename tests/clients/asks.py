"""OpenAI's package asks an agent of the hub: whole and streamed, with tools of the hub's and of its own, thinking, errors; and hangs up."""

import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none")


def ask(text, **more):
    return client.chat.completions.create(model="helper", messages=[{"role": "user", "content": text}], **more)


def same(found, wanted):
    assert found == wanted, f"{found!r} is not {wanted!r}"


assert [model.id for model in client.models.list()] == ["careful", "helper"]
same(client.models.retrieve("helper").owned_by, "fanlight")

whole = ask("Weather?").choices[0]
same((whole.message.content, whole.finish_reason), ("Let me look.\n\nIt is sunny.", "stop"))
same((whole.message.tool_calls, whole.message.reasoning_content), (None, "Hm."))

text, thinking, usage = "", "", None
for chunk in ask("Weather?", stream=True, stream_options={"include_usage": True}):
    usage = chunk.usage or usage
    for choice in chunk.choices:
        assert not choice.delta.tool_calls, choice
        text += choice.delta.content or ""
        thinking += getattr(choice.delta, "reasoning_content", None) or ""
same((text, thinking), ("Let me look.\n\nIt is sunny.", "Hm."))
same((usage.prompt_tokens, usage.completion_tokens), (14, 6))

with client.chat.completions.stream(model="helper", messages=[{"role": "user", "content": "Weather?"}]) as stream:
    stream.until_done()
    same(stream.get_final_completion().choices[0].message.content, "Let me look.\n\nIt is sunny.")

shown = [chunk.model_dump() for chunk in ask("Weather?", stream=True, extra_body={"tool_progress": True})]
called = [call["function"]["name"] for chunk in shown for choice in chunk["choices"] or [] for call in choice["delta"]["tool_calls"] or []]
same(called, ["t__echo"])
assert any(choice["delta"].get("role") == "tool" for chunk in shown for choice in chunk["choices"] or []), shown

own = {"type": "function", "function": {"name": "ask_user", "description": "asks", "parameters": {"type": "object", "properties": {}}}}
messages = [{"role": "user", "content": "Colour?"}]
answer = client.chat.completions.create(model="helper", messages=messages, tools=[own]).choices[0]
same((answer.finish_reason, answer.message.tool_calls[0].function.name), ("tool_calls", "ask_user"))
messages += [answer.message, {"role": "tool", "tool_call_id": answer.message.tool_calls[0].id, "content": "blue"}]
answer = client.chat.completions.create(model="helper", messages=messages, tools=[own]).choices[0]
same((answer.finish_reason, answer.message.content), ("stop", "It says blue."))

for wrong, call in [
    (openai.NotFoundError, lambda: client.chat.completions.create(model="gpt-9", messages=messages)),
    (openai.BadRequestError, lambda: ask("x", n=2)),
    (openai.InternalServerError, lambda: ask("fail")),
    (openai.APIError, lambda: list(ask("fail", stream=True))),
]:
    try:
        call()
    except wrong as error:
        print(wrong.__name__, error.code)
    else:
        raise AssertionError(f"no {wrong.__name__}")

raw = client.chat.completions.with_raw_response.create(model="helper", messages=[{"role": "user", "content": "wait"}], stream=True)
stream = raw.parse()
said = ""
while "Well" not in said:
    said += next(stream).choices[0].delta.content or ""
stream.close()
print(json.dumps({"left": raw.headers["fanlight-conversation"]}))
