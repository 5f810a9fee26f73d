#!/usr/bin/env python3
"""/debug/steps: its sums are those of /metrics, step by step; and the tokens of an answer that speculation had drafted."""

import time

from serving import SECONDS, Server, ServerTest, main


class Steps(ServerTest):
    context = 4096
    arguments = ("--kv-memory", "32M", "--spec-method", "ngram", "--spec-num-tokens", "4", "--no-prefix-caching", "--api-key", "k")
    key = {"Authorization": "Bearer k"}

    def post(self, **fields):
        status, _, answer = self.server.post("/v1/chat/completions", {
            "messages": [{"role": "user", "content": "abc " * 20}], "temperature": 0, **fields}, headers=self.key)
        self.assertEqual(status, 200, answer)
        return answer

    def steps(self, query="", server=None):
        status, _, answer = (server or self.server).get("/debug/steps" + query, headers=self.key)
        self.assertEqual(status, 200, answer)
        return answer

    def settled_steps(self):
        """An answer is sent before its step ends: waits for that."""
        end = time.monotonic() + SECONDS
        while True:
            answer = self.steps()
            if answer["steps"][-1]["number"] == self.server.gauge("engine_steps_total") and self.server.settle():
                return answer
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_sums_are_those_of_the_metrics(self):
        self.post(max_tokens=60, ignore_eos=True)
        self.server.settle()
        before = self.settled_steps()
        last = before["steps"][-1]["number"]
        names = {"prefill": "prompt_tokens_total", "drafted": "spec_decode_num_draft_tokens_total",
                 "accepted": "spec_decode_num_accepted_tokens_total"}
        counted = {k: self.server.gauge(n) for k, n in names.items()}
        self.post(max_tokens=40, ignore_eos=True, n=2)
        self.settled_steps()
        answer = self.steps(f"?after={last}")
        steps = answer["steps"]
        self.assertEqual([s["number"] for s in steps], list(range(last + 1, last + 1 + len(steps))))
        for key, name in names.items():
            self.assertEqual(sum(s[key] for s in steps), self.server.gauge(name) - counted[key], key)
        self.assertGreater(sum(s["accepted"] for s in steps), 0)
        # Each choice's first token comes with its prompt, each later one is a decode's or an accepted draft.
        self.assertEqual(sum(s["decode"] + s["accepted"] for s in steps), 2 * 39)
        for s, after in zip(steps, steps[1:]):
            self.assertLessEqual(s["accepted"], s["drafted"])
            self.assertLessEqual(s["start"] + s["seconds"], after["start"] + 1e-6)
        self.assertLessEqual(steps[-1]["start"] + steps[-1]["seconds"], answer["now"])

    def test_drafted_tokens_of_an_answer(self):
        answer = self.post(max_tokens=50, ignore_eos=True, logprobs=True, top_logprobs=1)
        drafted = [t for t in answer["choices"][0]["logprobs"]["content"] if t.get("drafted")]
        accepted = answer["usage"]["completion_tokens_details"]["accepted_prediction_tokens"]
        self.assertGreater(accepted, 0)
        self.assertIn(len(drafted) - accepted, (0, 1))  # 1: the limit fell on a drafted token, which counts as the model's
        plain = self.post(max_tokens=50, ignore_eos=True, logprobs=True, speculative="off")
        self.assertFalse([t for t in plain["choices"][0]["logprobs"]["content"] if "drafted" in t])

    def test_refusals(self):
        self.refused(401, None, self.server.get("/debug/steps"))
        for query in ("after=", "after=-1", "after=1.5", "after=x", "after=1x", "x=1", "after=99999999999999999999"):
            self.refused(400, "after", self.server.get("/debug/steps?" + query, headers=self.key))
        self.assertEqual(self.steps("?after=18446744073709551615")["steps"], [])
        server = Server(self.model, "--no-metrics", "--kv-memory", "32M")
        self.addCleanup(server.stop)
        self.refused(404, None, server.get("/debug/steps"))
        for path in ("/health", "/web/main.js"):
            self.assertEqual(server.get(path)[0], 200)


if __name__ == "__main__":
    main()
