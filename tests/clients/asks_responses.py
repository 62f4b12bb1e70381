"""OpenAI's package and its Agents SDK ask an agent of the hub through the Responses API, which the SDK takes by default."""

import asyncio
import json
import sys

import agents
import openai

base = sys.argv[1] + "/v1"
client = openai.OpenAI(base_url=base, api_key="none")


def same(found, wanted):
    assert found == wanted, f"{found!r} is not {wanted!r}"


def texts(response):
    return [part.text for item in response.output if item.type == "message" for part in item.content]


whole = client.responses.create(model="helper", input="Weather?")
same((texts(whole), whole.status), (["Let me look.", "It is sunny."], "completed"))
same((whole.usage.input_tokens, whole.usage.output_tokens), (14, 6))
same(texts(client.responses.retrieve(whole.id)), texts(whole))

text, kinds = "", set()
for event in client.responses.create(model="helper", input="Weather?", stream=True):
    kinds.add(event.type)
    text += event.delta if event.type == "response.output_text.delta" else ""
same(text, "Let me look.It is sunny.")
assert "response.completed" in kinds, kinds

with client.responses.stream(model="helper", input="Weather?") as stream:
    stream.until_done()
    same(texts(stream.get_final_response()), ["Let me look.", "It is sunny."])

own = {"type": "function", "name": "ask_user", "description": "asks", "parameters": {"type": "object", "properties": {}}, "strict": False}
first = client.responses.create(model="helper", input="Colour?", tools=[own])
call = next(item for item in first.output if item.type == "function_call")
same(call.name, "ask_user")
result = {"type": "function_call_output", "call_id": call.call_id, "output": "blue"}
second = client.responses.create(model="helper", previous_response_id=first.id, input=[result], tools=[own])
same(texts(second), ["It says blue."])

for wrong, ask in [
    (openai.NotFoundError, lambda: client.responses.create(model="gpt-9", input="x")),
    (openai.BadRequestError, lambda: client.responses.create(model="helper", input="x", background=True)),
    (openai.InternalServerError, lambda: client.responses.create(model="helper", input="fail")),
]:
    try:
        ask()
    except wrong as error:
        print(wrong.__name__, error.code)
    else:
        raise AssertionError(f"no {wrong.__name__}")

# The Agents SDK, with a function of its own and nothing set but the address.
agents.set_default_openai_client(openai.AsyncOpenAI(base_url=base, api_key="none"), use_for_tracing=False)
agents.set_tracing_disabled(True)
asked = []


@agents.function_tool
def ask_user() -> str:
    """Asks the user."""
    asked.append(True)
    return "blue"


async def run():
    agent = agents.Agent(name="painter", model="helper", tools=[ask_user])
    done = await agents.Runner.run(agent, "Colour?")
    same((done.final_output, len(asked)), ("It says blue.", 1))
    streamed = agents.Runner.run_streamed(agent, "Weather?")
    async for _event in streamed.stream_events():
        pass
    same(streamed.final_output, "It is sunny.")


asyncio.run(run())

raw = client.responses.with_raw_response.create(model="helper", input="wait", stream=True)
stream = raw.parse()
said = ""
while "Well" not in said:
    event = next(stream)
    said += event.delta if event.type == "response.output_text.delta" else ""
stream.close()
print(json.dumps({"left": raw.headers["fanlight-conversation"]}))
