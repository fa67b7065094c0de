"""A chat endpoint on loopback that answers as a test tells it, and keeps every request that it got."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Endpoint:
    """An OpenAI-compatible server that answers as it is told and keeps every request."""

    def __init__(self):
        self.requests = []
        self.kinds = "opinion"
        self.answer = None  # a function from the request's body to (status, bytes, headers)
        self.delay = 0.0
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append({"path": self.path, "headers": dict(self.headers), "body": body})
                time.sleep(endpoint.delay)
                status, told, headers = (endpoint.answer or endpoint.typed)(body)
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    for n in range(0, len(told), 10):
                        self.wfile.write(told[n : n + 10])
                        time.sleep(endpoint.delay / 50)
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            block_on_close = False  # a slow answer need not be waited for
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def typed(self, body):
        notes = json.loads(body["messages"][1]["content"])
        kinds = [{"n": note["n"], "kind": self.kinds, "confidence": 0.9} for note in notes]
        return 200, said(json.dumps({"kinds": kinds})), {}


def said(content):
    return json.dumps({"choices": [{"message": {"content": content}}]}).encode()
