"""Asks each recorded exchange of Anthropic's API, and prints what came: the bytes, and what the package makes of them."""

import hashlib
import json
import sys

from anthropic import Anthropic

client = Anthropic(max_retries=0)
for line in sys.stdin:
    exchange = json.loads(line)
    request = {**exchange["request"], "stream": exchange["stream"]}
    call = {
        "extra_headers": {"x-recording": exchange["name"]},
        "stream": exchange["stream"],
        "model": request.pop("model"),
        "messages": request.pop("messages"),
        "max_tokens": request.pop("max_tokens"),
        "extra_body": request,
    }
    with client.messages.with_streaming_response.create(**call) as response:
        print(exchange["name"], response.status_code, hashlib.sha256(response.read()).hexdigest())
    answer = client.messages.create(**call)
    for event in answer if exchange["stream"] else [answer]:
        print(event.model_dump_json())
