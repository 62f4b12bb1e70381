"""Asks each recorded exchange of OpenAI's APIs, and prints what came: the bytes, and what the package makes of them."""

import hashlib
import json
import sys

from openai import OpenAI

client = OpenAI(max_retries=0)
for line in sys.stdin:
    exchange = json.loads(line)
    request = {**exchange["request"], "stream": exchange["stream"]}
    call = {"extra_headers": {"x-recording": exchange["name"]}, "stream": exchange["stream"], "model": request.pop("model")}
    if exchange["dialect"] == "openai-chat":
        api, call["messages"] = client.chat.completions, request.pop("messages")
    else:
        api, call["input"] = client.responses, request.pop("input")
    call["extra_body"] = request
    with api.with_streaming_response.create(**call) as response:
        print(exchange["name"], response.status_code, hashlib.sha256(response.read()).hexdigest())
    answer = api.create(**call)
    for event in answer if exchange["stream"] else [answer]:
        print(event.model_dump_json())
