"""Watches a conversation from another machine, over TLS with the certificate verified, after a login as a browser does it.

Arguments: address, port, name of the hub, file with its certificate, token of who watches, token of who publishes.
"""

import http.client
import json
import socket
import ssl
import sys
import urllib.parse

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

address, port, name, certificate, watcher, publisher = sys.argv[1:]
origin = f"https://{name}:{port}"
trusting = ssl.create_default_context(cafile=certificate)


def reach(context, host=name):
    """A connection through TLS, on which the hub has proved that it is `host`."""
    return context.wrap_socket(socket.create_connection((address, int(port)), timeout=20), server_hostname=host)


def ask(method, path, body=None, headers={}):
    connection = http.client.HTTPConnection(name, int(port))
    connection.sock = reach(trusting)
    connection.request(method, path, body, {"Host": f"{name}:{port}", **headers})
    answer = connection.getresponse()
    answer.read()
    return answer


def follow(headers={}):
    """A socket, opened as the page opens it."""
    stream = socket.create_connection((address, int(port)), timeout=20)
    return connect(f"wss://{name}:{port}/v1/ws", sock=stream, ssl=trusting, server_hostname=name, origin=origin,
                   subprotocols=["fanlight.v1"], additional_headers=headers)


for what, context, host in [("unknown certificate", ssl.create_default_context(), name), ("other name", trusting, "other.test")]:
    try:
        reach(context, host)
    except ssl.SSLCertVerificationError:
        print(what, "refused")
plain = socket.create_connection((address, int(port)), timeout=20)
plain.sendall(f"GET /healthz HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n".encode())
try:
    said = plain.recv(100)
except ConnectionResetError:
    said = b""
print("plain", b"HTTP" in said)
print("unknown", ask("GET", "/v1/conversations").status)
for what, hello in [("no token", {}), ("wrong token", {"token": watcher[:-1]})]:
    with follow() as stranger:
        stranger.send(json.dumps({"t": "hello", "versions": ["1"], **hello}))
        try:
            while True:
                stranger.recv(timeout=20)
        except ConnectionClosed as closed:
            print(what, closed.rcvd.code)
form = urllib.parse.urlencode({"token": watcher, "next": "/"})
kind = {"Content-Type": "application/x-www-form-urlencoded", "Origin": origin}
done = ask("POST", "/login", form, kind)
cookie = done.getheader("Set-Cookie")
print("login", done.status, cookie.startswith("__Host-fanlight=") and "; Secure" in cookie)
with follow({"Cookie": cookie.split(";")[0]}) as watching:
    watching.send(json.dumps({"t": "hello", "versions": ["1"]}))
    watching.send(json.dumps({"t": "sub", "sub": 1, "conv": "c"}))
    while json.loads(watching.recv(timeout=20))["t"] != "subbed":
        pass
    text = "Hello from far."
    events = [{"k": "run.start", "run": "r"}, {"k": "part.start", "run": "r", "part": "p", "kind": "text"},
              {"k": "part.delta", "run": "r", "part": "p", "text": text}, {"k": "run.end", "run": "r"}]
    told = ask("POST", "/v1/conversations/c/events", json.dumps(events), {"Authorization": f"Bearer {publisher}"})
    print("published", told.status)
    while text not in watching.recv(timeout=20):
        pass
    print("watched")
