#!/usr/bin/env python3
"""--trace of a server: its request spans are the requests that were sent, and it is JSON however the server ends."""

import os
import signal
import tempfile
import threading
import unittest

from serving import SECONDS, Server, main, tiny_gguf  # finds the folder of the next one
from traces import Trace


class ServerTrace(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "trace.json")
        model = tiny_gguf.write(os.path.join(folder.name, "tiny.gguf"), context=4096)
        self.server = Server(model, "--kv-memory", "32M", "--no-prefix-caching", "--trace", self.path)
        self.addCleanup(self.server.stop, signal.SIGKILL)

    def usages(self, count):
        """Sends that many requests at once; the usage of each answer."""
        answers = [None] * count

        def ask(i):
            answers[i] = self.server.complete(prompt="abc " * (10 * i + 1), max_tokens=5 + i, ignore_eos=True)["usage"]

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(count)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(SECONDS)
        return answers

    def test_spans_are_the_requests(self):
        usages = self.usages(6)
        self.assertTrue(self.server.settle())
        self.assertEqual(self.server.stop(), 0)
        trace = Trace(self.path)
        expected = sorted((u["prompt_tokens"], u["completion_tokens"], "length") for u in usages)
        wholes = [spans["whole"] for spans in trace.spans.values()]
        self.assertEqual(sorted((a["prompt_tokens"], a["generated_tokens"], a["finish"]) for _, _, a in wholes), expected)
        self.assertEqual(sum(s["prefill"] for s in trace.steps), sum(u["prompt_tokens"] for u in usages))
        self.assertEqual(sum(s["decode"] for s in trace.steps), sum(u["completion_tokens"] - 1 for u in usages))
        self.assertTrue(any(e["ph"] == "C" and e["name"] == "requests" for e in trace.events))

    def test_sigterm_with_a_request_running(self):
        connection = self.server.open_stream({"prompt": "a", "max_tokens": 4000, "ignore_eos": True, "stream": True})
        connection.recv(100)
        self.server.process.send_signal(signal.SIGINT)
        self.server.expect("shutting down")
        connection.close()
        self.server.process.wait(SECONDS)  # a second signal would end it at once
        self.assertEqual(self.server.stop(), 0)
        (spans,) = Trace(self.path).spans.values()
        self.assertIn(spans["whole"][2]["finish"], ("cancelled", "length"))

    def test_killed(self):
        self.usages(1)
        self.assertTrue(self.server.settle())
        self.usages(1)  # the steps before this one's are in the file
        self.server.stop(signal.SIGKILL)
        self.assertGreaterEqual(len(Trace(self.path).spans), 1)


if __name__ == "__main__":
    main()
