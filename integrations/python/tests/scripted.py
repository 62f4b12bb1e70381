"""A server in place of a model's: it says what is written for it, as chat completions, streamed or not."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def calls(*wanted):
    """A turn that calls tools: (id, name, arguments) each."""
    written = [
        {"index": i, "id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for i, (id_, name, arguments) in enumerate(wanted)
    ]
    return {"role": "assistant", "content": None, "tool_calls": written}


def says(text):
    """A turn that answers."""
    return {"role": "assistant", "content": text}


class Scripted:
    """Answers the request after n turns of the model with turn n of the script; without one, with an error."""

    def __init__(self, *script):
        class Answers(BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                turn = sum(message["role"] == "assistant" for message in request["messages"])
                if turn < len(script):
                    self.answer(script[turn], request.get("stream"))
                else:
                    self.send(400, "application/json", json.dumps({"error": {"message": "the script is over"}}))

            def answer(self, message, streams):
                reason = "tool_calls" if message.get("tool_calls") else "stop"
                common = {"id": "c1", "created": 1, "model": "scripted"}
                if not streams:
                    choice = {"index": 0, "message": message, "finish_reason": reason}
                    answer = {**common, "object": "chat.completion", "choices": [choice], "usage": USAGE}
                    self.send(200, "application/json", json.dumps(answer))
                    return
                deltas = [{"role": "assistant", "content": ""}]
                deltas += [{"content": word} for word in (message["content"] or "").split(" ") if word]
                deltas += [{"tool_calls": [call]} for call in message.get("tool_calls", [])]
                chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
                chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
                chunks.append({"choices": [], "usage": USAGE})
                lines = [json.dumps({**common, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
                self.send(200, "text/event-stream", "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]))

            def send(self, status, kind, text):
                body = text.encode()
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
