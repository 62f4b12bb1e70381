"""Calls with a token of the hub in place of the vendor's key: base_url and api_key, and nothing else, are set.

Arguments: the hub's address, a token without a budget, one whose budget the first call uses up.
"""

import sys

import anthropic
import openai

hub, free, bounded = sys.argv[1:]
said = [{"role": "user", "content": "Hello?"}]


def of_openai(token):
    return openai.OpenAI(base_url=f"{hub}/proxy/openai/v1", api_key=token)


def of_anthropic(token):
    return anthropic.Anthropic(base_url=f"{hub}/proxy/anthropic", api_key=token)


answer = of_openai(free).chat.completions.create(model="m", messages=said)
print("openai", answer.choices[0].message.content)
stream = of_openai(free).chat.completions.create(model="m", messages=said, stream=True)
print("openai stream", "".join(piece.choices[0].delta.content or "" for piece in stream if piece.choices))
message = of_anthropic(free).messages.create(model="m", max_tokens=9, messages=said)
print("anthropic", message.content[0].text)

of_openai(bounded).chat.completions.create(model="m", messages=said)
while True:
    # The first call is counted when its answer was read; until then others are taken.
    try:
        of_openai(bounded).chat.completions.create(model="m", messages=said)
    except openai.RateLimitError as refused:
        print("openai refused", refused.status_code, refused.code, "budget" in refused.message)
        break
try:
    of_anthropic(bounded).messages.create(model="m", max_tokens=9, messages=said)
except anthropic.APIStatusError as refused:
    print("anthropic refused", refused.status_code, refused.body["error"]["type"], "budget" in refused.message)
try:
    of_openai("fanlight_" + "A" * 43).chat.completions.create(model="m", messages=said)
except openai.AuthenticationError as refused:
    print("unknown", refused.status_code)
