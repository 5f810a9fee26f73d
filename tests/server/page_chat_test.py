#!/usr/bin/env python3
"""The chat of the web page in Chromium: streams, stops, keeps, shows hostile answers as text, and asks for a key."""

import json
import time

from browser import PageTest, expect
from serving import Server, main

HOSTILE = ["<script>window.hacked = 1</script>", "<img src=x onerror=\"window.hacked = 1\">", "[go](javascript:hacked=1)",
           "<svg/onload=hacked=1>", "![x](data:text/html,<script>hacked=1</script>)", "</article></main><h1>gone</h1>",
           "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>", "<a href='javascript:hacked=1'>x</a>"]


class ChatPage(PageTest):
    def setUp(self):
        super().setUp()
        expect(self.page.locator("#server-state")).to_have_text("ready")

    def set_field(self, label, value):
        if not self.page.locator("#settings").is_visible():
            self.page.get_by_role("button", name="Settings").click()
        self.page.get_by_label(label, exact=True).fill(str(value))

    def test_an_answer_is_the_servers(self):
        self.set_field("Most tokens", 12)
        self.set_field("Seed", 7)
        self.set_field("Temperature", 0.5)
        self.set_field("System prompt", "be brief")
        with self.page.expect_request("**/v1/chat/completions") as sent:
            self.ask("abc")
        body = sent.value.post_data_json
        for key in ("stream", "stream_options", "logprobs", "top_logprobs"):
            self.assertIn(key, body)
            del body[key]
        self.assertEqual(body, {"model": "tiny", "max_tokens": 12, "seed": 7, "temperature": 0.5, "messages": [
            {"role": "system", "content": "be brief"}, {"role": "user", "content": "abc"}]})
        want = self.server.chat(**body)["choices"][0]["message"]["content"]
        answer = self.answer()
        expect(answer.locator(".note")).to_contain_text("tokens")
        stored = json.loads(self.page.evaluate("localStorage['toccata.conversations']"))
        self.assertEqual([m["content"] for m in stored[0]["messages"]], ["abc", want])
        self.assertEqual(stored[0]["title"], "abc")
        # The question goes with its answer to the next turn.
        with self.page.expect_request("**/v1/chat/completions") as sent:
            self.ask("more")
        self.assertEqual([m["content"] for m in sent.value.post_data_json["messages"]], ["be brief", "abc", want, "more"])
        self.answer()

    def test_all_sampling_options_are_sent(self):
        wanted = {"Top p": ("top_p", 0.9), "Top k": ("top_k", 5), "Min p": ("min_p", 0.1), "Repetition":
                  ("repetition_penalty", 1.1), "Presence": ("presence_penalty", 0.5), "Frequency": ("frequency_penalty", -0.5),
                  "Most tokens": ("max_tokens", 3)}
        for label, (_, value) in wanted.items():
            self.set_field(label, value)
        self.page.get_by_label("Token probabilities").uncheck()
        self.page.locator("select[name=speculative]").select_option("ngram")
        with self.page.expect_request("**/v1/chat/completions") as sent:
            self.ask("abc")
        body = sent.value.post_data_json
        self.assertEqual({k: body.get(k) for k, _ in wanted.values()}, dict(wanted.values()))
        self.assertEqual(body["speculative"], {"method": "ngram"})
        self.assertNotIn("logprobs", body)
        self.answer()
        self.page.reload()
        expect(self.page.locator("input[name=top_k]")).to_have_value("5")
        self.page.get_by_role("button", name="Settings").click()
        self.page.get_by_role("button", name="Back to the defaults").click()
        with self.page.expect_request("**/v1/chat/completions") as sent:
            self.ask("abc")
        self.assertNotIn("top_k", sent.value.post_data_json)
        self.page.get_by_role("button", name="Stop").click()
        self.answer()

    def test_a_wrong_option_is_told_and_sends_nothing(self):
        self.set_field("Top p", 3)
        self.ask("abc")
        expect(self.page.get_by_role("alert")).to_contain_text("Top p")
        self.assertEqual(self.page.get_by_role("article").count(), 0)

    def never_ending(self):
        """From now on the server goes on past end tokens."""
        def change(route):
            route.continue_(post_data=json.dumps({**route.request.post_data_json, "ignore_eos": True}))
        self.page.route("**/v1/chat/completions", change)

    def test_streams_and_stops(self):
        self.never_ending()
        for stop in (lambda: self.page.get_by_role("button", name="Stop").click(), lambda: self.page.keyboard.press("Escape")):
            self.page.get_by_role("button", name="New chat").click()
            self.set_field("Temperature", 2)
            self.ask("abc")
            answer = self.page.get_by_role("article", name="Answer")
            expect(answer).to_have_attribute("aria-busy", "true")
            length = "document.querySelector('.assistant .body').textContent.length"
            first = self.page.evaluate_handle(f"(async () => {{ while ({length} < 20) await new Promise(requestAnimationFrame); "
                                              f"return {length}; }})()").json_value()
            self.page.wait_for_function(f"() => {length} > {first} + 20")
            self.assertEqual(self.server.gauge("num_requests_running"), 1)
            stop()
            self.answer()
            self.assertTrue(self.server.settle())
            expect(answer.locator(".note")).to_contain_text("stopped")
            expect(self.page.get_by_role("button", name="Send")).to_be_visible()
            self.assertGreater(self.page.evaluate(length), first)

    def test_closing_the_page_ends_the_request(self):
        self.never_ending()
        self.ask("abc")
        expect(self.page.get_by_role("button", name="Stop")).to_be_visible()
        while self.server.gauge("num_requests_running") == 0:
            time.sleep(0.01)
        self.page.close()
        self.assertTrue(self.server.settle())

    def test_hostile_answers_stay_text(self):
        self.answers_with(*[piece for text in HOSTILE for piece in (text[:5], text[5:], "\n\n")], "**bold** `code`")
        self.ask("<b>own</b> <img src=x onerror=hacked=1>")
        answer = self.answer()
        text = answer.locator(".body").inner_text()
        for hostile in HOSTILE:
            self.assertIn(hostile, text)
        self.assertEqual(self.page.locator("#messages :is(script, img, iframe, svg, object, embed, form, h1)").count(), 0)
        self.assertEqual(self.page.locator("#messages a").count(), 0)
        self.assertEqual(self.page.evaluate("typeof window.hacked"), "undefined")
        self.assertEqual(self.page.locator(".user .body").inner_text(), "<b>own</b> <img src=x onerror=hacked=1>")
        self.assertEqual([answer.locator("strong").inner_text(), answer.locator("code").inner_text()], ["bold", "code"])
        self.page.reload()  # as stored, the same
        self.assertIn(HOSTILE[0], self.page.get_by_role("article", name="Answer").inner_text())
        self.assertEqual(self.page.evaluate("typeof window.hacked"), "undefined")

    def test_hostile_tokens_stay_text(self):
        tokens = [{"token": t, "logprob": -0.1, "bytes": list(t.encode()), "drafted": i == 1,
                   "top_logprobs": [{"token": t, "logprob": -0.1, "bytes": []}, {"token": "<b>x", "logprob": -3, "bytes": []}]}
                  for i, t in enumerate(["<img src=x onerror=hacked=1>", "<script>"])]
        tokens += [{"token": "\ufffd", "logprob": -2, "bytes": [b], "top_logprobs": []} for b in "\u00fc".encode()]
        self.answers_with("ab", logprobs={"content": tokens})
        self.ask("abc")
        answer = self.answer()
        answer.get_by_role("button", name="Tokens").click()
        shown = answer.get_by_role("option")
        self.assertEqual(shown.all_inner_texts(), ["<img src=x onerror=hacked=1>", "<script>", "\u25ab", "\u00fc"])
        shown.nth(1).hover()
        card = self.page.locator("#token-card")
        for words in ("90.5 %", "<b>x", "4.98 %", "drafted by speculation"):
            expect(card).to_contain_text(words)
        self.assertEqual(self.page.locator("#messages :is(script, img), #token-card b").count(), 0)
        answer.get_by_role("listbox").focus()
        self.page.keyboard.press("ArrowRight")
        expect(shown.nth(2)).to_have_attribute("aria-selected", "true")
        self.page.keyboard.press("Escape")
        expect(card).to_be_hidden()
        answer.get_by_role("button", name="Tokens").click()
        self.assertEqual(answer.locator(".body").inner_text(), "ab")

    def test_tokens_have_the_servers_probabilities(self):
        self.set_field("Most tokens", 4)
        self.set_field("Temperature", 0)
        self.ask("abc")
        answer = self.answer()
        answer.get_by_role("button", name="Tokens").click()
        want = self.server.chat(messages=[{"role": "user", "content": "abc"}], max_tokens=4, temperature=0, logprobs=True,
                                top_logprobs=5)["choices"][0]["logprobs"]["content"]
        self.assertEqual(answer.get_by_role("option").count(), len(want))
        answer.get_by_role("option").first.hover()
        rows = self.page.locator("#token-card tr")
        self.assertEqual(rows.count(), len(want[0]["top_logprobs"]))

    def test_errors_are_told(self):
        self.expected_complaints = ("400", "429", "Failed to load")
        self.page.route("**/v1/chat/completions", lambda route: route.fulfill(
            status=429, content_type="application/json", body='{"error": {"message": "the queue is <b>full</b>"}}'))
        self.ask("abc")
        expect(self.page.get_by_role("alert")).to_have_text("The queue is <b>full</b>.")
        self.page.unroute("**/v1/chat/completions")
        self.answers_with("half")
        self.page.get_by_role("button", name="Try again").click()
        expect(self.page.get_by_role("alert")).to_be_hidden()
        self.assertEqual(self.answer().locator(".body").inner_text(), "half")
        self.page.unroute("**/v1/chat/completions")
        error = 'data: {"error": {"message": "the engine failed"}}\n\ndata: [DONE]\n\n'
        for body, words in ((error, "the engine failed"), (": ping\n\n", "connection was lost")):
            self.answers_with_body(body)
            self.ask("abc")
            expect(self.page.get_by_role("alert")).to_contain_text(words)
            self.page.unroute("**/v1/chat/completions")

    def test_conversations_are_kept_and_deleted(self):
        self.answers_with("first answer")
        self.ask("one")
        self.answer()
        self.page.get_by_role("button", name="New chat").click()
        self.ask("two")
        self.answer()
        self.page.reload()
        names = self.page.locator("#conversations .open")
        self.assertEqual(names.all_inner_texts(), ["two", "one"])
        names.nth(1).click()
        expect(self.page.locator(".user .body")).to_have_text("one")
        remove = self.page.locator("#conversations li").nth(1).get_by_role("button", name="Delete")
        remove.click()
        self.page.get_by_role("button", name="Really?").click()
        self.assertEqual(names.all_inner_texts(), ["two"])
        self.page.get_by_role("button", name="Delete all").click()
        self.page.get_by_role("button", name="Really delete all?").click()
        self.assertEqual(names.count(), 0)
        self.page.reload()
        self.assertEqual(self.page.locator("#conversations li").count(), 0)

    def test_damaged_storage_is_ignored(self):
        for stored in ("{", "null", "5", '[{"id": 1}]', '[null, {"id": "a", "title": "t", "messages": [{"role": "x"}]}]'):
            self.page.evaluate("(x) => { localStorage['toccata.conversations'] = x; localStorage['toccata.settings'] = x; }", stored)
            self.page.reload()
            expect(self.page.get_by_role("button", name="Send")).to_be_visible()
            self.assertEqual(self.page.locator("#conversations li").count(), 0)

    def test_by_keyboard_alone(self):
        self.answers_with("yes")
        self.page.reload()
        expect(self.page.get_by_label("Message", exact=True)).to_be_focused()
        self.page.keyboard.type("a")
        self.page.keyboard.press("Shift+Enter")
        self.page.keyboard.type("b")
        self.page.keyboard.press("Control+Enter")
        self.assertEqual(self.answer().locator(".body").inner_text(), "yes")
        self.assertEqual(self.page.locator(".user .body").inner_text(), "a\nb")
        expect(self.page.locator("#announcement")).to_have_text("The answer is complete.")
        seen = []
        for _ in range(20):
            self.page.keyboard.press("Shift+Tab")
            seen.append(self.page.evaluate("(document.activeElement.textContent || '').trim().slice(0, 40)"))
        for name in ("Try again", "Copy", "Settings", "Chats", "New chat", "Chat", "Dashboard", "Skip to the content"):
            self.assertIn(name, seen)

    def test_every_control_has_a_name(self):
        self.page.get_by_role("button", name="Settings").click()
        nameless = self.page.evaluate("""[...document.querySelectorAll('button, input, select, textarea, a')].filter((e) =>
            !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.[0]?.textContent.trim())).map((e) => e.outerHTML)""")
        self.assertEqual(nameless, [])
        for role in ("banner", "main", "navigation"):
            self.assertEqual(self.page.get_by_role(role).count(), 1)


class Keys(PageTest):
    arguments = ("--api-key", "secret", "--kv-memory", "32M")

    def test_the_page_asks_for_the_key(self):
        self.expected_complaints = ("401",)
        dialog = self.page.get_by_role("dialog")
        for key, accepted in (("wrong", False), ("secret", True)):
            expect(dialog).to_be_visible()
            dialog.get_by_label("API key", exact=True).fill(key)
            with self.page.expect_response("**/v1/models") as response:
                self.page.keyboard.press("Enter")
            self.assertEqual(response.value.status, 200 if accepted else 401)
        expect(dialog).to_be_hidden()
        expect(self.page.locator("#server-state")).to_have_text("ready")
        self.page.get_by_role("button", name="Settings").click()
        self.page.get_by_label("Most tokens").fill("3")
        self.ask("abc")
        expect(self.answer().locator(".note")).to_contain_text("tokens")
        self.page.reload()
        expect(self.page.locator("#server-state")).to_have_text("ready")
        kept = self.page.evaluate("JSON.stringify(Object.values(localStorage))")
        self.assertNotIn("secret", kept)


class Loading(PageTest):
    def test_a_server_that_goes_away_is_told(self):
        self.expected_complaints = ("Failed to load resource",)
        server = Server(self.model, "--kv-memory", "32M")
        page = self.new_page(server)
        expect(page.locator("#server-state")).to_have_text("ready")
        self.assertEqual(server.stop(), 0)
        self.ask("abc", page)
        expect(page.get_by_role("alert")).to_have_text("The server cannot be reached.")


class Phone(PageTest):
    viewport = {"width": 360, "height": 640}

    def fits(self):
        self.assertLessEqual(self.page.evaluate("document.scrollingElement.scrollWidth"), 360)
        wide = self.page.evaluate("""[...document.querySelectorAll('body *')].filter((e) => {
            const r = e.getBoundingClientRect();
            const clipped = e.closest('pre, .table, .hidden, .skip, #conversations, .model') !== null;
            return r.width > 0 && !clipped && (r.right > 360.5 || r.left < -0.5);
          }).map((e) => e.outerHTML.slice(0, 100))""")
        self.assertEqual(wide, [])

    def test_nothing_is_wider_than_the_screen(self):
        self.fits()
        self.answers_with("x" * 400 + "\n\n```c\n" + "y" * 300 + "\n```\n\n|" + "a|" * 30 + "\n|" + "-|" * 30 + "\n|" + "b|" * 30)
        self.ask("z" * 300)
        self.answer()
        self.fits()
        for name, panel in (("Settings", "#settings"), ("Chats", "#history")):
            self.page.get_by_role("button", name=name).click()
            expect(self.page.locator(panel)).to_be_visible()
            self.fits()
            self.page.keyboard.press("Escape")
            expect(self.page.locator(panel)).to_be_hidden()


if __name__ == "__main__":
    main()
