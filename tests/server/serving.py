"""What the tests of the server share: the program on a tiny model and a free port, and ways to talk to it."""

import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import tiny_gguf  # noqa: E402

TOCCATA = os.environ.get("TOCCATA_PROGRAM", "toccata")
SECONDS = 60
A = tiny_gguf.LETTER_BASE


class Server:
    """A running `toccata serve`; `log` collects its stderr."""

    def __init__(self, model, *arguments, environment=None, wait=True):
        self.process = subprocess.Popen([TOCCATA, "serve", "-m", model, "--port", "0", *arguments], stderr=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        self.log, self.port = [], None
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if wait:
            self.expect("ready: ")
        self.port = int(re.search(r"http://\S+:(\d+)", self.expect("listening on")).group(1))

    def _read(self):
        for line in self.process.stderr:
            with self._changed:
                self.log.append(line.decode(errors="replace").rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self.log.append("<end>")
            self._changed.notify_all()

    def expect(self, words):
        """The first line of the log that has the words; waits for it."""
        end = time.monotonic() + SECONDS
        with self._changed:
            while True:
                for line in self.log:
                    if words in line:
                        return line
                if self.log[-1:] == ["<end>"] or not self._changed.wait(max(0.0, end - time.monotonic())):
                    raise AssertionError(f"no {words!r} in {self.log}")

    def stop(self, sig=signal.SIGTERM):
        """The exit code."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        code = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        self.process.stderr.close()
        return code

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def request(self, method, path, body=None, headers=None, raw=None):
        """(status, headers with lower-case names, body as JSON or text)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            data = raw if raw is not None else None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, headers or {})
            response = connection.getresponse()
            text = response.read().decode("utf-8")
            kind = response.headers.get("Content-Type", "")
            content = strict_json(text) if kind.startswith("application/json") and text else text
            return response.status, {k.lower(): v for k, v in response.headers.items()}, content
        finally:
            connection.close()

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.request("POST", path, body, **options)

    def complete(self, **fields):
        """The answer of /v1/completions, which must succeed."""
        status, _, answer = self.post("/v1/completions", fields)
        assert status == 200, answer
        return answer

    def chat(self, **fields):
        fields.setdefault("messages", [{"role": "user", "content": "abc"}])
        status, _, answer = self.post("/v1/chat/completions", fields)
        assert status == 200, answer
        return answer

    def stream(self, path, **fields):
        """The events of a stream, [DONE] checked and left out."""
        status, headers, text = self.post(path, {**fields, "stream": True})
        assert status == 200 and headers["content-type"].startswith("text/event-stream"), text
        return events(text)

    def gauge(self, name):
        text = self.get("/metrics")[2]
        return float(re.search(rf"^toccata:{name}{{.*?}} (\S+)$", text, re.MULTILINE).group(1))

    def settle(self):
        """Waits until nothing runs, waits or holds blocks; false if that takes too long."""
        end = time.monotonic() + SECONDS
        while any(self.gauge(n) for n in ("num_requests_running", "num_requests_waiting", "kv_blocks_used")):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def open_stream(self, body, path="/v1/completions"):
        """A socket on which the request was sent; nothing is read yet."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        connection.sendall(head.encode() + data)
        return connection


def strict_json(text):
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def events(text):
    parts = [p for p in text.split("\n\n") if p and not p.startswith(":")]
    assert all(p.startswith("data: ") for p in parts) and parts[-1] == "data: [DONE]", text
    return [strict_json(p[len("data: "):]) for p in parts[:-1]]


def reset(connection):
    """Closes with RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class ServerTest(unittest.TestCase):
    """Tests on one server, started with `arguments`."""

    arguments = ()
    context = 256

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = cls._folder.name
        cls.model = tiny_gguf.write(os.path.join(cls.folder, "tiny.gguf"), context=cls.context)
        cls.server = Server(cls.model, *cls.arguments)

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        cls._folder.cleanup()
        if code != 0:
            raise AssertionError(f"exit code {code}: {cls.server.log}")

    def path(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        return path

    def refused(self, status, param, answer):
        """The answer (of Server.post) is an error of OpenAI's shape."""
        self.assertEqual(answer[0], status, answer)
        error = answer[2]["error"]
        self.assertEqual(set(error) - {"n_prompt_tokens", "n_ctx"}, {"message", "type", "param", "code"})
        self.assertTrue(error["message"])
        if param is not None:
            self.assertEqual(error["param"], param, error)


def main():
    unittest.main(verbosity=1, argv=sys.argv, warnings="ignore")
