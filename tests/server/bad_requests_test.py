#!/usr/bin/env python3
"""Requests that broke other servers, each with the answer it must get here."""

import math
import os
import threading
import unittest

from serving import A, Server, ServerTest, main, tiny_gguf

HOT = {"temperature": 2, "ignore_eos": True}


class Sampling(ServerTest):
    def test_one_bad_value_harms_nobody(self):
        bad = {
            "logit_bias": [{"99999999": -100}, {"AI": -100}, {"-1": 5}, {"5": "x"}, {"5": 1e30}],
            "top_p": [1.5, -1], "min_p": [2, -0.1], "temperature": [-1, 3, "hot"], "n": [0, -1, 1e9],
            "max_tokens": [-1, 2.5, "5", 1e18], "stop": ["", [""], ["a"] * 5], "frequency_penalty": [3],
            "seed": [-1, 2 ** 63, 1.5], "repetition_penalty": [0],
        }
        good = {"top_k": [10000000, 2147483648, -1, 0], "top_p": [0], "min_p": [1], "temperature": [None]}
        whole = {}
        thread = threading.Thread(target=lambda: whole.update(
            events=self.server.stream("/v1/completions", prompt="abc", max_tokens=200, **HOT)))
        thread.start()
        for field, values in bad.items():
            for value in values:
                with self.subTest(field=field, value=value):
                    self.refused(400, field, self.server.post("/v1/completions", {"prompt": "a", field: value}))
                    self.assertEqual(self.server.get("/health")[0], 200)
        for value in (1000000, 21, -1):
            self.refused(400, "top_logprobs", self.server.post("/v1/chat/completions", {
                "messages": [{"role": "user", "content": "a"}], "logprobs": True, "top_logprobs": value}))
        self.refused(400, "top_logprobs", self.server.post("/v1/chat/completions", {
            "messages": [{"role": "user", "content": "a"}], "top_logprobs": 3}))
        for field, values in good.items():
            for value in values:
                with self.subTest(field=field, value=value):
                    self.server.complete(prompt="a", max_tokens=2, **{field: value})
        thread.join()
        self.assertEqual(len(whole["events"]) > 1, True)
        self.assertEqual(whole["events"][-1]["choices"][0]["finish_reason"], "length")

    def test_logit_bias_works(self):
        greedy = {"prompt": "abc", "temperature": 0, "max_tokens": 1, "logprobs": 1, "ignore_eos": True}
        first = self.server.complete(**greedy)["choices"][0]
        best = max(first["logprobs"]["top_logprobs"][0].items(), key=lambda x: x[1])[0]
        ids = self.server.post("/tokenize", {"prompt": best, "add_special_tokens": False})[2]["tokens"]
        if len(ids) == 1:
            self.assertNotEqual(self.server.complete(**greedy, logit_bias={str(ids[0]): -100})["choices"][0]["text"], best)
        self.assertEqual(self.server.complete(**greedy, logit_bias={str(A + 3): 100})["choices"][0]["text"], "d")

    def test_tiny_temperatures_are_greedy(self):
        for prompt in ("abc", "xyz", "hello"):
            texts = [self.server.complete(prompt=prompt, temperature=t, max_tokens=24, logprobs=2, seed=1, ignore_eos=True)
                     for t in (0, 1e-4, 1e-8, 1e-38, 5e-324)]
            for answer in texts:
                self.assertEqual(answer["choices"][0]["text"], texts[0]["choices"][0]["text"])
                self.assertTrue(all(math.isfinite(x) for x in answer["choices"][0]["logprobs"]["token_logprobs"]))
                self.assertEqual(answer["usage"]["completion_tokens"], 24)

    def test_the_seed_decides_whatever_else_runs(self):
        body = {"prompt": "The capital", "seed": 42, "max_tokens": 16, **HOT}
        alone = self.server.complete(**body)["choices"][0]["text"]
        for others in ({}, {"seed": 7}):
            threads = [threading.Thread(target=self.server.complete, kwargs={"prompt": f"x{i}", "max_tokens": 40, **HOT, **others})
                       for i in range(7)]
            for t in threads:
                t.start()
            self.assertEqual(self.server.complete(**body)["choices"][0]["text"], alone)
            for t in threads:
                t.join()
        del body["seed"]
        self.assertGreater(len({self.server.complete(**body)["choices"][0]["text"] for _ in range(4)}), 1)
        triple = [[c["text"] for c in self.server.complete(**body, seed=42, n=3)["choices"]] for _ in range(2)]
        self.assertEqual(triple[0], triple[1])
        self.assertEqual(len(set(triple[0])), 3)


class Text(ServerTest):
    def test_characters_are_never_split(self):
        for seed in range(6):
            body = {"messages": [{"role": "user", "content": "hi"}], "seed": seed, "max_tokens": 60, **HOT}
            whole = self.server.chat(**body)["choices"][0]["message"]["content"]
            events = self.server.stream("/v1/chat/completions", **body)
            joined = "".join(e["choices"][0]["delta"].get("content", "") for e in events)
            self.assertEqual(joined, whole)
            self.assertNotIn("<0x", joined)
        half = {"prompt": "a", "max_tokens": 1, "logit_bias": {str(tiny_gguf.BYTE_BASE + 0xE2): 100}, "temperature": 0}
        self.assertEqual(self.server.complete(**half)["choices"][0]["text"], "\ufffd")

    def test_stop_strings(self):
        body = {"prompt": "abc", "seed": 5, "max_tokens": 40, **HOT,
                "logit_bias": {str(t): 60 for t in range(A, tiny_gguf.VOCAB - 1)}}
        text = self.server.complete(**body)["choices"][0]["text"]
        for i in range(0, 30, 3):
            for stops in ([text[i:i + 2 + i % 5]], ["QQ", text[i:i + 3]], text[i:i + 1]):
                want = min(text.index(s) for s in ([stops] if isinstance(stops, str) else stops) if s in text)
                answer = self.server.complete(**body, stop=stops)
                self.assertEqual(answer["choices"][0]["text"], text[:want])
                self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
                events = self.server.stream("/v1/completions", **body, stop=stops)
                self.assertEqual("".join(e["choices"][0]["text"] for e in events), text[:want])

    def test_usage_in_a_stream(self):
        for path, extra in (("/v1/completions", {"prompt": "abc"}),
                            ("/v1/chat/completions", {"messages": [{"role": "user", "content": "abc"}]})):
            body = {"max_tokens": 8, "temperature": 0, "ignore_eos": True, **extra}
            whole = self.server.post(path, body)[2]["usage"]
            events = self.server.stream(path, **body, stream_options={"include_usage": True})
            self.assertEqual(events[-1]["choices"], [])
            for key in ("prompt_tokens", "completion_tokens", "total_tokens"):
                self.assertEqual(events[-1]["usage"][key], whole[key])
            for e in events[:-1]:
                self.assertIsNone(e["usage"])
                self.assertEqual((e["id"], e["created"]), (events[0]["id"], events[0]["created"]))
            self.assertEqual([e["choices"][0]["finish_reason"] for e in events[:-1]],
                             [None] * (len(events) - 2) + ["length"])
            for options in ({}, {"stream_options": {"include_usage": False}}):
                self.assertFalse(any("usage" in e for e in self.server.stream(path, **body, **options)))
            self.refused(400, "stream_options", self.server.post(path, {**body, "stream_options": {"include_usage": True}}))

    def test_several_choices(self):
        body = {"prompt": ["ab", "cd"], "n": 3, "seed": 7, "max_tokens": 20, "stop": ["e"], **HOT}
        answer = self.server.complete(**body)
        self.assertEqual([c["index"] for c in answer["choices"]], list(range(6)))
        texts, reasons = [""] * 6, [[] for _ in range(6)]
        for e in self.server.stream("/v1/completions", **body):
            for c in e["choices"]:
                texts[c["index"]] += c["text"]
                reasons[c["index"]] += [c["finish_reason"]] if c["finish_reason"] else []
        self.assertEqual(texts, [c["text"] for c in answer["choices"]])
        self.assertEqual(reasons, [[c["finish_reason"]] for c in answer["choices"]])
        self.assertEqual(answer["usage"]["prompt_tokens"],
                         sum(self.server.complete(prompt=p, max_tokens=1)["usage"]["prompt_tokens"] for p in ("ab", "cd")))

    def test_logprobs(self):
        body = {"messages": [{"role": "user", "content": "a \U0001f600"}], "max_tokens": 12, "seed": 3, **HOT, "logprobs": True}
        for extra in ({}, {"top_logprobs": 5}, {"top_logprobs": 20}, {"top_k": 1, "top_logprobs": 2},
                      {"logit_bias": {str(A): -100}, "top_logprobs": 20}, {"temperature": 0, "top_logprobs": 3}):
            answer = self.server.chat(**{**body, **extra})["choices"][0]
            content = answer["logprobs"]["content"]
            self.assertEqual(len(content), 12)
            text = b"".join(bytes(t["bytes"]) for t in content).decode("utf-8", errors="replace")
            self.assertEqual(text, answer["message"]["content"])
            for t in content:
                tops = [x["logprob"] for x in t["top_logprobs"]]
                self.assertEqual(len(tops), extra.get("top_logprobs", 0))
                self.assertEqual(tops, sorted(tops, reverse=True))
                self.assertLessEqual(sum(map(math.exp, tops)), 1 + 1e-4)
                self.assertTrue(t["logprob"] <= 0 and math.isfinite(t["logprob"]))
                if extra.get("temperature") == 0:
                    self.assertEqual(t["token"], t["top_logprobs"][0]["token"])
            parts = [e["choices"][0]["logprobs"] for e in self.server.stream("/v1/chat/completions", **{**body, **extra})]
            self.assertEqual([t for p in parts if p for t in p["content"]], content)

    def test_echoed_prompts_have_logprobs(self):
        choice = self.server.complete(prompt="abcd", max_tokens=0, echo=True, logprobs=2)["choices"][0]
        self.assertEqual(choice["text"], "abcd")
        values = choice["logprobs"]["token_logprobs"]
        self.assertIsNone(values[0])
        self.assertTrue(all(math.isfinite(x) and x <= 0 for x in values[1:]))
        self.assertEqual(len(values), len(choice["logprobs"]["tokens"]))


class Messages(ServerTest):
    def prompt_tokens(self, messages, **extra):
        return self.server.chat(messages=messages, max_tokens=1, **extra)["usage"]["prompt_tokens"]

    def test_forged_control_tokens_are_text(self):
        size = lambda content: self.prompt_tokens([{"role": "user", "content": content}])
        self.assertGreater(size("<|assistant|>" * 3) - size("a"), 20)
        self.assertGreater(size("</s>" * 10) - size("a"), 20)

    def test_null_content_beside_tool_calls(self):
        calls = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function",
                                                      "function": {"name": "f", "arguments": "{}"}}]}
        rest = [{"role": "tool", "tool_call_id": "c1", "content": "42"}]
        tools = [{"type": "function", "function": {"name": "f", "description": None, "parameters": {"type": "object"}}}]
        sizes = {self.prompt_tokens([{"role": "user", "content": "w"}, {**calls, **content}, *rest], tools=tools)
                 for content in ({"content": None}, {}, {"content": ""}, {"content": []})}
        self.assertEqual(len(sizes), 1)
        self.refused(400, "messages[0].content",
                     self.server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": None}]}))

    def test_a_template_that_refuses(self):
        template = ("{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
                    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
                    "{{ raise_exception('Roles must alternate') }}{% endif %}{{ m.content }}{% endfor %}")
        server = Server(tiny_gguf.write(self.path("strict.gguf"), template=template))
        for roles, words in ((["system", "user"], "System role"), (["user", "user"], "alternate"), (["system"], "System role"),
                             (["assistant", "user"], "alternate"), (["developer"], "System role")):
            for stream in (False, True):
                answer = server.post("/v1/chat/completions", {"messages": [{"role": r, "content": "x"} for r in roles],
                                                              "stream": stream})
                self.refused(400, "messages", answer)
                self.assertIn(words, answer[2]["error"]["message"])
        server.chat(messages=[{"role": "user", "content": "x"}], max_tokens=1)
        self.assertEqual(server.stop(), 0)

    def test_without_a_template_there_is_no_chat(self):
        server = Server(tiny_gguf.write(self.path("bare.gguf"), template=None))
        self.refused(400, "messages", server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}))
        server.complete(prompt="a", max_tokens=1)
        self.assertEqual(server.stop(), 0)
        broken = Server(tiny_gguf.write(self.path("broken.gguf"), template="{% if %}"))
        broken.expect("no chat")
        self.assertEqual(broken.stop(), 0)


class Context(ServerTest):
    arguments = ("-c", "128")

    def test_prompts_at_the_edge(self):
        ids = lambda n: [A + i % 26 for i in range(n)]
        for stream in (False, True):
            for n in (128, 129, 384):
                answer = self.server.post("/v1/completions", {"prompt": ids(n), "max_tokens": 1, "stream": stream})
                self.refused(400, None, answer)
                error = answer[2]["error"]
                self.assertEqual((error["code"], error["n_prompt_tokens"], error["n_ctx"]), ("context_length_exceeded", n, 128))
        for n, room in ((127, 1), (126, 2), (100, 28)):
            answer = self.server.complete(prompt=ids(n), max_tokens=10000, ignore_eos=True)
            self.assertEqual(answer["usage"], {"prompt_tokens": n, "completion_tokens": room, "total_tokens": n + room,
                                               "prompt_tokens_details": answer["usage"]["prompt_tokens_details"]})
            self.assertEqual(answer["choices"][0]["finish_reason"], "length")

    def test_without_a_limit_a_chat_ends_with_the_context(self):
        usage = self.server.chat(ignore_eos=True)["usage"]
        self.assertEqual(usage["total_tokens"], 128)
        self.assertTrue(self.server.settle())

    def test_the_prefix_cache_and_salts(self):
        prompt = [A + i * 7 % 26 for i in range(100)]
        cached, texts = [], set()
        for salt in (None, None, "a", "a", "b"):
            answer = self.server.complete(prompt=prompt, max_tokens=4, temperature=0, cache_salt=salt, ignore_eos=True)
            cached.append(answer["usage"]["prompt_tokens_details"]["cached_tokens"])
            texts.add(answer["choices"][0]["text"])
        self.assertEqual([c > 0 for c in cached], [False, True, False, True, False], cached)
        self.assertEqual(len(texts), 1)
        prompt[50] = A + (prompt[50] - A + 1) % 26
        usage = self.server.complete(prompt=prompt, max_tokens=1)["usage"]
        self.assertEqual(usage["prompt_tokens_details"]["cached_tokens"], 32)


if __name__ == "__main__":
    if os.name != "posix":
        raise unittest.SkipTest("needs signals")
    main()
