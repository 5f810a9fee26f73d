#!/usr/bin/env python3
"""Clients that leave or do not read, full queues, keys, and how the server starts and ends."""

import http.client
import os
import random
import signal
import socket
import subprocess
import threading
import time
import unittest

from serving import A, SECONDS, TOCCATA, Server, ServerTest, main, reset, tiny_gguf

ENDLESS = {"prompt": "abc", "max_tokens": 100000, "temperature": 2, "ignore_eos": True}


def read_some(connection):
    """The head and the first event of a stream."""
    data = b""
    while b"data: " not in data:
        more = connection.recv(4096)
        if not more:
            raise AssertionError(f"closed after {data!r}")
        data += more
    return data


class Leaving(ServerTest):
    context = 1 << 17
    arguments = ("--max-num-seqs", "2", "--kv-memory", "64M")

    def test_clients_that_leave_in_any_state(self):
        rng = random.Random(1)
        long_prompt = [A + i * 7 % 26 for i in range(4000)]
        for i in range(36):
            body = {**ENDLESS, "stream": i % 3 == 0}
            if i % 3 == 2:
                body["prompt"] = long_prompt[rng.randrange(1000):]
            held = [self.server.open_stream({**ENDLESS, "stream": True}) for _ in range(2 if i % 2 else 0)]
            connection = self.server.open_stream(body)
            for other in held:
                read_some(other)
            time.sleep(rng.uniform(0, 0.05))
            for c in [connection, *held]:
                reset(c) if rng.random() < 0.5 else c.close()
        self.assertTrue(self.server.settle())
        self.server.complete(prompt="a", max_tokens=2)
        both = [threading.Thread(target=self.server.complete, kwargs={"prompt": "a", "max_tokens": 2}) for _ in range(2)]
        for t in both:
            t.start()
        for t in both:
            t.join(SECONDS)
        self.assertTrue(self.server.settle())
        self.assertEqual(self.server.gauge("http_requests_in_flight"), 0)

    def test_a_client_that_does_not_read_is_dropped(self):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", self.server.port))
        body = b'{"prompt":"a","max_tokens":100000,"stream":true,"logprobs":20,"ignore_eos":true,"n":2,"temperature":2}'
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        self.server.expect("reads too slowly")
        self.assertTrue(self.server.settle())
        connection.close()


class Queue(ServerTest):
    context = 1 << 16
    arguments = ("--max-num-seqs", "1", "--max-queue", "1", "--kv-memory", "64M", "--max-body", "1")

    def test_a_full_queue_answers_429(self):
        running = self.server.open_stream({**ENDLESS, "stream": True})
        read_some(running)
        waiting = self.server.open_stream({**ENDLESS, "stream": True})
        while self.server.gauge("num_requests_waiting") != 1:
            time.sleep(0.01)
        for stream in (False, True):
            answer = self.server.post("/v1/completions", {**ENDLESS, "stream": stream})
            self.refused(429, None, answer)
            self.assertEqual(answer[2]["error"]["code"], "queue_full")
            self.assertIn("retry-after", answer[1])
            self.assertTrue(answer[1]["content-type"].startswith("application/json"))
        self.assertEqual(self.server.gauge("num_requests_running"), 1)
        waiting.close()
        running.close()
        self.assertTrue(self.server.settle())
        self.server.complete(prompt="a", max_tokens=1)

    def test_limits_of_http(self):
        self.refused(413, None, self.server.post("/v1/completions", raw=b" " * ((1 << 20) + 1)))
        self.refused(404, None, self.server.get("/v1/nothing"))
        answer = self.server.request("DELETE", "/v1/completions")
        self.refused(405, None, answer)
        self.assertEqual(answer[1]["allow"], "POST")
        self.refused(405, None, self.server.request("FLY", "/health"))
        self.refused(414, None, self.server.get("/" + "a" * 9000))
        self.refused(431, None, self.server.get("/health", headers={"X-Long": "a" * 20000}))
        for raw in (b"", b"{", b"[]", b"\xff", b'{"prompt": "a"} x', b"[" * 50000):
            self.refused(400, None, self.server.post("/v1/completions", raw=raw))
        self.refused(404, "model", self.server.post("/v1/completions", {"model": "other", "prompt": "a"}))
        self.assertEqual(self.server.get("/v1/models/tiny")[2]["id"], "tiny")
        self.refused(404, "model", self.server.get("/v1/models/other%2Fname"))
        self.assertNotIn("access-control-allow-origin", self.server.get("/health", headers={"Origin": "http://a"})[1])

    def test_metrics_count_what_happened(self):
        def all_of_them():
            text = self.server.get("/metrics")[2]
            return {line.split(" ")[0].replace('model_name="tiny"', "").replace("{}", ""): float(line.split(" ")[1])
                    for line in text.splitlines() if not line.startswith("#")}

        before = all_of_them()
        for stream in (False, True):
            self.server.post("/v1/completions", {"prompt": "abc", "max_tokens": 5, "ignore_eos": True, "stream": stream})
        after = all_of_them()
        for name, want in (("generation_tokens_total", 10), ("time_to_first_token_seconds_count", 2),
                           ("inter_token_latency_seconds_count", 8), ("e2e_request_latency_seconds_count", 2),
                           ('request_success_total{,finished_reason="length"}', 2),
                           ("request_generation_tokens_sum", 10)):
            self.assertEqual(after["toccata:" + name] - before["toccata:" + name], want, name)
        # An answer is sent before its step ends, so the gauges follow a moment later.
        gauges = ["toccata:" + name for name in ("num_requests_running", "num_requests_waiting", "http_requests_in_flight")]
        until = time.monotonic() + SECONDS
        while any(after[name] for name in gauges) and time.monotonic() < until:
            time.sleep(0.05)
            after = all_of_them()
        self.assertEqual([after[name] for name in gauges], [0, 0, 0])

    def test_chunked_bodies(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=SECONDS)
        connection.request("POST", "/tokenize", iter([b'{"prom', b'pt": "abc"}']), encode_chunked=True,
                           headers={"Transfer-Encoding": "chunked"})
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()

    def test_tokens_there_and_back(self):
        ids = self.server.post("/tokenize", {"prompt": "abc \u00fc"})[2]
        self.assertEqual(ids["count"], len(ids["tokens"]))
        self.assertEqual(self.server.post("/detokenize", {"tokens": ids["tokens"][1:]})[2]["prompt"].strip(), "abc \u00fc")
        chat = self.server.post("/tokenize", {"messages": [{"role": "user", "content": "x"}]})[2]
        self.assertEqual(chat["count"], self.server.chat(messages=[{"role": "user", "content": "x"}],
                                                         max_tokens=1)["usage"]["prompt_tokens"])
        for body in ({}, {"prompt": 5}, {"messages": []}):
            self.assertEqual(self.server.post("/tokenize", body)[0], 400)
        for tokens in (None, "a", [-1], [10 ** 9], [1.5]):
            self.assertEqual(self.server.post("/detokenize", {"tokens": tokens})[0], 400)


class Keys(ServerTest):
    def start(self, *arguments, **options):
        server = Server(self.model, *arguments, **options)
        self.addCleanup(server.stop)
        return server

    def check(self, server, keys):
        for key, status in [*((k, 200) for k in keys), ("wrong", 401), (keys[0] + "x", 401), (keys[0][:-1], 401), ("", 401)]:
            answer = server.get("/v1/models", headers={"Authorization": f"Bearer {key}"})
            self.assertEqual(answer[0], status, key)
        answer = server.post("/v1/completions", {"prompt": "a"})
        self.refused(401, None, answer)
        self.assertEqual(answer[1]["www-authenticate"], "Bearer")
        self.assertEqual(server.post("/tokenize", {"prompt": "a"})[0], 401)
        for path in ("/health", "/ready", "/metrics", "/version"):
            self.assertEqual(server.get(path)[0], 200)

    def test_from_flag_file_and_environment(self):
        self.check(self.start("--api-key", "one", "--api-key", "two"), ["one", "two"])
        self.check(self.start("--api-key-file", self.path("keys", "# k\nthree\n\nfour\n")), ["three", "four"])
        self.check(self.start(environment={"TOCCATA_API_KEY": "five"}), ["five"])

    def test_cors(self):
        server = self.start("--cors-origin", "http://a", "--api-key", "k")
        preflight = {"Origin": "http://a", "Access-Control-Request-Method": "POST"}
        status, headers, _ = server.request("OPTIONS", "/v1/completions", headers=preflight)
        self.assertEqual((status, headers["access-control-allow-origin"]), (204, "http://a"))
        self.assertEqual(server.get("/health", headers={"Origin": "http://a"})[1]["access-control-allow-origin"], "http://a")
        self.assertNotIn("access-control-allow-origin", server.get("/health", headers={"Origin": "http://b"})[1])
        self.assertEqual(server.request("OPTIONS", "/v1/completions", headers={**preflight, "Origin": "http://b"})[0], 405)

    def test_names(self):
        server = self.start("--served-model-name", "org/a", "--served-model-name", "b", "--no-metrics")
        self.assertEqual([m["id"] for m in server.get("/v1/models")[2]["data"]], ["org/a", "b"])
        self.assertEqual(server.get("/v1/models/org/a")[2]["id"], "org/a")
        self.assertEqual(server.complete(prompt="a", model="b", max_tokens=1)["model"], "b")
        self.refused(404, None, server.get("/metrics"))


class Ending(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import tempfile
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = tiny_gguf.write(os.path.join(cls.folder.name, "tiny.gguf"), context=1 << 17)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def start(self, *arguments):
        return Server(self.model, "--kv-memory", "64M", *arguments)

    def test_idle_with_open_connections(self):
        for sig in (signal.SIGTERM, signal.SIGINT):
            server = self.start()
            idle = socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)
            idle.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertIn(b"200 OK", idle.recv(4096))
            port = server.port
            self.assertEqual(server.stop(sig), 0)
            self.assertEqual(idle.recv(10), b"")
            again = Server(self.model, "--kv-memory", "64M", "--port", str(port))
            self.assertEqual(again.port, port)
            self.assertEqual(again.stop(), 0)

    def test_running_requests_may_end(self):
        server = self.start("--shutdown-timeout", "60")
        stream = server.open_stream({**ENDLESS, "max_tokens": 1500, "stream": True})
        data = read_some(stream)
        server.process.send_signal(signal.SIGTERM)
        server.expect("shutting down")
        answer = server.post("/v1/completions", {"prompt": "a"})
        self.assertEqual((answer[0], answer[2]["error"]["code"]), (503, "draining"))
        self.assertIn("retry-after", answer[1])
        self.assertEqual(server.get("/ready")[0], 503)
        while True:
            more = stream.recv(65536)
            data += more
            if not more:
                break
        self.assertIn(b'"finish_reason":"length"', data)
        self.assertIn(b"[DONE]", data)
        self.assertEqual(server.process.wait(SECONDS), 0)
        server.stop()

    def test_what_is_left_is_cut_with_an_error(self):
        server = self.start("--shutdown-timeout", "0.3", "--max-num-seqs", "1")
        streams = [server.open_stream({**ENDLESS, "stream": True}) for _ in range(3)]
        whole = server.open_stream(ENDLESS)
        read_some(streams[0])
        deaf = server.open_stream({**ENDLESS, "stream": True})
        server.process.send_signal(signal.SIGTERM)
        for stream in streams:
            data = b""
            while more := stream.recv(65536):
                data += more
            self.assertIn(b'"code":"draining"', data)
            self.assertIn(b"[DONE]", data)
        self.assertIn(b"HTTP/1.1 503", whole.recv(4096))
        self.assertEqual(server.process.wait(SECONDS), 0)
        deaf.close()
        server.stop()

    def test_a_second_signal_ends_at_once(self):
        server = self.start("--shutdown-timeout", "600")
        stream = server.open_stream({**ENDLESS, "stream": True})
        read_some(stream)
        server.process.send_signal(signal.SIGTERM)
        server.expect("shutting down")
        self.assertEqual(server.stop(signal.SIGTERM), 0)
        stream.close()

    def test_a_bad_file_opens_no_port(self):
        bad = os.path.join(self.folder.name, "bad.gguf")
        with open(self.model, "rb") as file:
            whole = file.read()
        for content in (b"", b"GGU", whole[:24], whole[:2000], whole[:len(whole) // 2], b"GGML" + whole[4:]):
            with open(bad, "wb") as file:
                file.write(content)
            done = subprocess.run([TOCCATA, "serve", "-m", bad, "--port", "0"], capture_output=True, timeout=SECONDS)
            self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
            self.assertNotIn(b"listening", done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_wrong_usage(self):
        for arguments in ([], ["--port", "70000"], ["--kv-memory", "x"], ["--chunk-size", "0"], ["--api-key", ""],
                          ["--no-chunked-prefill", "--itl-target", "50"], ["--cache-type-k", "q9"]):
            model = ["-m", self.model] if arguments else []
            done = subprocess.run([TOCCATA, "serve", *model, *arguments], capture_output=True, timeout=SECONDS)
            self.assertEqual((done.returncode, done.stdout), (2, b""), (arguments, done.stderr))
        server = self.start()
        done = subprocess.run([TOCCATA, "serve", "-m", self.model, "--port", str(server.port)], capture_output=True,
                              timeout=SECONDS)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot listen", done.stderr)
        self.assertEqual(server.stop(), 0)


class Many(ServerTest):
    context = 1 << 14
    arguments = ("--max-num-seqs", "2", "--max-queue", "2000", "--kv-memory", "32M")

    def resident(self):
        with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))

    def test_a_thousand_waiting_streams(self):
        running = [self.server.open_stream({**ENDLESS, "stream": True}) for _ in range(2)]
        for connection in running:
            read_some(connection)
        base = self.resident()
        waiting = [self.server.open_stream({**ENDLESS, "stream": True}) for _ in range(1000)]
        for connection in waiting:
            connection.recv(10)  # the head is there: the request waits
        self.assertLess((self.resident() - base) / 1000, 64 << 10)
        self.assertGreaterEqual(self.server.gauge("num_requests_waiting"), 900)
        for connection in [*waiting, *running]:
            connection.close()
        self.assertTrue(self.server.settle())


if __name__ == "__main__":
    main()
