#!/usr/bin/env python3
"""Real clients, unmodified: openai, litellm, langchain-openai. Needs $TOCCATA_PYTHON with those packages."""

import asyncio
import os
import sys

from serving import A, SECONDS, ServerTest, main, tiny_gguf
from venv_python import run_with_packages

run_with_packages(__file__, "openai", "litellm", "langchain_openai")

import openai  # noqa: E402

MESSAGES = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "abc"}]
GREEDY = {"temperature": 0, "max_tokens": 8}
EOS = tiny_gguf.EOS
ENDLESS = {"extra_body": {"ignore_eos": True}}


class OpenAi(ServerTest):
    arguments = ("--api-key", "secret", "--max-num-seqs", "8")
    context = 4096

    def client(self, key="secret"):
        return openai.OpenAI(base_url=self.server.url + "/v1", api_key=key, max_retries=0, timeout=SECONDS)

    def test_models(self):
        self.assertEqual([m.id for m in self.client().models.list()], ["tiny"])
        self.assertEqual(self.client().models.retrieve("tiny").id, "tiny")
        with self.assertRaises(openai.NotFoundError):
            self.client().models.retrieve("other")
        with self.assertRaises(openai.AuthenticationError):
            self.client("wrong").models.list()

    def test_chat(self):
        whole = self.client().chat.completions.create(model="tiny", messages=MESSAGES, **GREEDY, **ENDLESS)
        self.assertEqual(whole.choices[0].finish_reason, "length")
        self.assertEqual(whole.usage.completion_tokens, 8)
        self.assertIsInstance(whole.usage.prompt_tokens_details.cached_tokens, int)
        text, usage, reasons = "", None, []
        for chunk in self.client().chat.completions.create(model="tiny", messages=MESSAGES, stream=True, **GREEDY, **ENDLESS,
                                                           stream_options={"include_usage": True}):
            for choice in chunk.choices:
                text += choice.delta.content or ""
                reasons += [choice.finish_reason] if choice.finish_reason else []
            usage = chunk.usage or usage
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(reasons, ["length"])
        self.assertEqual(usage.total_tokens, whole.usage.total_tokens)

    def test_the_stream_helper(self):
        # The helper takes an answer that was cut for an error, so the end token is forced.
        with self.client().chat.completions.stream(model="tiny", messages=MESSAGES, logit_bias={str(EOS): 100}) as stream:
            for _ in stream:
                pass
            final = stream.get_final_completion()
        self.assertEqual(final.choices[0].finish_reason, "stop")

    def test_logprobs_and_choices(self):
        answer = self.client().chat.completions.create(model="tiny", messages=MESSAGES, logprobs=True, top_logprobs=3, n=2,
                                                       seed=5, max_tokens=4, **ENDLESS)
        self.assertEqual([c.index for c in answer.choices], [0, 1])
        for choice in answer.choices:
            self.assertEqual(len(choice.logprobs.content), 4)
            self.assertEqual(len(choice.logprobs.content[0].top_logprobs), 3)

    def test_completions(self):
        answer = self.client().completions.create(model="tiny", prompt=["ab", [A, A + 1]], echo=True, logprobs=2, **GREEDY,
                                                  **ENDLESS)
        self.assertTrue(answer.choices[0].text.startswith("ab"))
        self.assertEqual(len(answer.choices), 2)
        self.assertIsNone(answer.choices[0].logprobs.token_logprobs[0])
        text = "".join(c.choices[0].text for c in self.client().completions.create(model="tiny", prompt="ab", stream=True,
                                                                                   **GREEDY, **ENDLESS))
        self.assertEqual("ab" + text, answer.choices[0].text)

    def test_errors_are_the_clients_own(self):
        create = self.client().chat.completions.create
        with self.assertRaises(openai.BadRequestError) as caught:
            create(model="tiny", messages=MESSAGES, temperature=3)
        self.assertEqual(caught.exception.param, "temperature")
        with self.assertRaises(openai.BadRequestError) as caught:
            create(model="tiny", messages=[{"role": "user", "content": "a" * 5000}])
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        with self.assertRaises(openai.BadRequestError) as caught:
            create(model="tiny", messages=MESSAGES, response_format={"type": "json_object"}, stream=True)
        self.assertEqual(caught.exception.param, "response_format")
        with self.assertRaises(openai.NotFoundError):
            create(model="other", messages=MESSAGES)

    def test_many_at_once_and_closed_early(self):
        async def one(client, i):
            stream = await client.chat.completions.create(model="tiny", messages=MESSAGES, stream=True, seed=i,
                                                          temperature=2, max_tokens=200 if i % 2 else 20, **ENDLESS)
            count = 0
            async for _ in stream:
                count += 1
                if i % 2 and count == 3:
                    await stream.close()
                    break
            return count

        async def all_of_them():
            async with openai.AsyncOpenAI(base_url=self.server.url + "/v1", api_key="secret") as client:
                return await asyncio.gather(*(one(client, i) for i in range(24)))

        counts = asyncio.run(all_of_them())
        self.assertTrue(all(c == 3 if i % 2 else c > 3 for i, c in enumerate(counts)), counts)
        self.assertTrue(self.server.settle())

    def test_litellm(self):
        import litellm
        common = {"model": "openai/tiny", "api_base": self.server.url + "/v1", "api_key": "secret", "messages": MESSAGES,
                  "temperature": 0, "max_tokens": 8}
        whole = litellm.completion(**common)
        text = "".join(c.choices[0].delta.content or "" for c in litellm.completion(**common, stream=True))
        self.assertEqual(text, whole.choices[0].message.content)
        with self.assertRaises(litellm.BadRequestError):
            litellm.completion(**{**common, "messages": [{"role": "user", "content": "a" * 5000}]})

    def test_langchain(self):
        from langchain_core.tools import tool
        from langchain_openai import ChatOpenAI

        @tool
        def weather(city: str) -> str:
            """The weather of a city."""
            return city

        chat = ChatOpenAI(model="tiny", base_url=self.server.url + "/v1", api_key="secret", temperature=0, max_tokens=8)
        whole = chat.invoke([("system", "be brief"), ("human", "abc")])
        self.assertEqual("".join(c.content for c in chat.stream([("system", "be brief"), ("human", "abc")])), whole.content)
        self.assertGreater(whole.usage_metadata["input_tokens"], 0)
        chat.bind_tools([weather]).invoke([("human", "abc")])


if __name__ == "__main__":
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    sys.exit(main())
