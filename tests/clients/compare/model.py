"""A model that answers by a script, in the words of OpenAI's chat completions and of Anthropic's messages, whole or streamed;
and a server with tools (MCP over HTTP). It listens on 127.0.0.1 until its program ends."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import questions

# How each server calls the tools of the script.
TOOLS = {
    "ralph": {
        "look": ("run_shell_command", {"args": ["echo", "seven degrees"]}),
        "note": ("save_file", {"file_name": "note.txt"}),
        "fail": ("read_file", {"wrong": "argument"}),
        "much": ("run_shell_command", {"args": ["seq", "1", "2000"], "tail": 2000}),
    },
    "deep-agent": {
        "look": ("read_todos", {}),
        "note": ("write_file", {"file_path": "note.txt"}),
        "fail": ("read_file", {"file_path": "/nowhere"}),
        "much": ("task", {"description": "S01", "subagent_type": "research-agent"}),
        "reflect": ("think_tool", {"reflection": "so it is"}),
    },
    "forge": {
        "look": ("weather__look", {"place": "Oslo", "days": [1, 2.5, None]}),
        "note": ("notes__note", {}),
        "fail": ("weather__fail", {}),
        "much": ("weather__much", {}),
    },
}
TEXTS = {"note": {"ralph": "contents", "deep-agent": "content", "forge": "text"}}
USAGE = (7, 3)


def items(key, turn, server):
    """What is said and called in one turn, with the names that `server` has."""
    turns = questions.TURNS[key]
    for number, (kind, *rest) in enumerate(turns[min(turn, len(turns) - 1)]):
        if kind != "call":
            yield kind, *rest
            continue
        tool, arguments = rest
        name, more = TOOLS[server].get(tool, (tool, {}))
        renamed = {TEXTS.get(tool, {}).get(server, field): value for field, value in arguments.items()}
        yield "call", f"call_{key}_{turn}_{number}", name, {**more, **renamed}


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or [] if block.get("type") == "text")


def asked(messages):
    """The key of the last question, and how often it was answered before."""
    turn = 0
    for message in reversed(messages):
        keys = re.findall(r"\b[QS]\d\d\b", text_of(message["content"])) if message["role"] == "user" else []
        if keys:
            return keys[-1], turn
        turn += message["role"] == "assistant"
    raise ValueError("nothing was asked")


def openai(said):
    """The chunks of an answer, and the answer as a whole."""
    whole, chunks, calls = {"role": "assistant", "content": None}, [{"role": "assistant", "content": ""}], 0
    for kind, *rest in said:
        if kind == "call":
            name, function = rest[0], {"name": rest[1], "arguments": json.dumps(rest[2])}
            whole.setdefault("tool_calls", []).append({"id": name, "type": "function", "function": function})
            first = {**function, "arguments": ""}
            chunks.append({"tool_calls": [{"index": calls, "id": name, "type": "function", "function": first}]})
            for piece in re.findall(r"(?s).{1,9}", function["arguments"]):
                chunks.append({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]})
            calls += 1
        elif kind in ("say", "think"):
            field = "content" if kind == "say" else "reasoning_content"
            whole[field] = (whole.get(field) or "") + "".join(rest[0])
            chunks += [{field: piece} for piece in rest[0]]
    reason = "tool_calls" if calls else "stop"
    head = {"id": "x", "created": 1, "model": "scripted"}
    usage = {"prompt_tokens": USAGE[0], "completion_tokens": USAGE[1], "total_tokens": sum(USAGE)}
    head_of_chunk = {**head, "object": "chat.completion.chunk"}
    ends = [None] * len(chunks) + [reason]
    choices = [
        {"index": 0, "delta": delta, "finish_reason": end} for delta, end in zip([*chunks, {}], ends, strict=True)
    ]
    told = [{**head_of_chunk, "choices": [choice]} for choice in choices]
    told[-1]["usage"] = usage
    answer = {"index": 0, "message": whole, "finish_reason": reason}
    return told, {**head, "object": "chat.completion", "choices": [answer], "usage": usage}


def anthropic(said):
    """The events of an answer."""
    usage = {"input_tokens": USAGE[0], "output_tokens": 1}
    message = {"id": "msg_x", "type": "message", "role": "assistant", "content": [], "model": "scripted"}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    events, called = [{"type": "message_start", "message": message}], False
    for index, (kind, *rest) in enumerate(said):
        if kind == "call":
            called = True
            block = {"type": "tool_use", "id": rest[0], "name": rest[1], "input": {}}
            pieces = re.findall(r"(?s).{1,9}", json.dumps(rest[2]))
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        elif kind == "think":
            block = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in rest[0]]
        elif kind == "say":
            block = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in rest[0]]
        else:
            continue
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": "tool_use" if called else "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": USAGE[1]}})
    return [*events, {"type": "message_stop"}]


def tools(method, params):
    """The server with tools."""
    if method == "initialize":
        info = {"name": "armory", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        text = {"type": "object", "properties": {"text": {"type": "string"}}}
        place = {"place": {"type": "string"}, "days": {"type": "array"}}
        schemas = {"weather__look": {"type": "object", "properties": place}, "notes__note": text}
        names = [name for name, _ in TOOLS["forge"].values()]
        empty = {"type": "object", "properties": {}}
        listed = [{"name": name, "description": name, "inputSchema": schemas.get(name, empty)} for name in names]
        return {"tools": listed}
    if method != "tools/call":
        return {}
    said = {
        "weather__look": json.dumps({"degrees": 7, "sky": ["blue", "grå"]}),
        "weather__fail": json.dumps({"is_error": True, "error": "no such place"}),
        "weather__much": "much " * 4000,
    }.get(params["name"]) or params["arguments"].get("text", "")
    return {"content": [{"type": "text", "text": said}], "isError": params["name"] == "weather__fail"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer({}, 405)

    do_DELETE = do_GET

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.startswith("/mcp"):
            if "id" not in body:
                return self.answer(None, 202)
            return self.answer(
                {"jsonrpc": "2.0", "id": body["id"], "result": tools(body["method"], body.get("params") or {})}
            )
        server = self.path.split("/")[1]
        said = list(items(*asked(body["messages"]), server))
        kinds = {kind for kind, *_ in said}
        if "refuse" in kinds:
            fault = {"type": "invalid_request_error", "message": "the model refuses: ü", "code": "refused"}
            return self.answer({"type": "error", "error": fault}, said[0][1])
        is_anthropic = self.path.endswith("/messages")
        if not body.get("stream"):
            answer = json.dumps(openai(said)[1]).encode()
            return self.send(answer[: len(answer) // 2] if "cut" in kinds else answer, 200, len(answer))
        if is_anthropic:
            lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in anthropic(said)]
        else:
            lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in openai(said)[0]] + ["data: [DONE]\n\n"]
        return self.stream(lines[:-3] if "cut" in kinds else lines, "cut" not in kinds)

    def answer(self, value, status=200):
        body = b"" if value is None else json.dumps(value).encode()
        self.send(body, status, len(body))

    def send(self, body, status, length):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(length))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = len(body) < length

    def stream(self, lines, is_whole):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for line in lines:
            data = line.encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
        if is_whole:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = not is_whole


def start():
    """Its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
