"""What the tests of the web page share: the server's page in a real Chromium, and what no page may do."""

import json
import shutil
import sys
from urllib.parse import urlsplit

from serving import SECONDS, ServerTest
from venv_python import SKIPPED, run_with_packages

run_with_packages(sys.argv[0], "playwright")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    print("skipped: there is no chromium")
    sys.exit(SKIPPED)

from playwright.sync_api import expect, sync_playwright  # noqa: E402

expect.set_options(timeout=SECONDS * 1000)


def stream_of(*pieces, **last):
    """The body of a streamed chat completion that says the pieces."""
    head = {"id": "chatcmpl-x", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
    choices = [{"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}]
    choices += [{"index": 0, "delta": {"content": p}, "logprobs": None, "finish_reason": None} for p in pieces]
    choices += [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop", **last}]
    return "".join(f"data: {json.dumps({**head, 'choices': [c]})}\n\n" for c in choices) + "data: [DONE]\n\n"


class PageTest(ServerTest):
    """Each test has a page of its own. It fails if the page complained, or asked anybody but the server."""

    context = 1 << 14
    arguments = ("--kv-memory", "64M")
    viewport = {"width": 1280, "height": 800}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        super().tearDownClass()

    def setUp(self):
        self.expected_complaints = ()  # parts of their texts
        self.complaints, self.hosts = [], set()
        self.page = self.new_page()

    def new_page(self, server=None, **options):
        context = self.browser.new_context(**{"viewport": self.viewport, **options})
        context.set_default_timeout(SECONDS * 1000)
        self.addCleanup(context.close)
        page = context.new_page()
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.complaints.append(str(e)))
        page.on("dialog", lambda d: (self.complaints.append("dialog: " + d.message), d.dismiss()))
        page.on("request", lambda r: self.hosts.add(urlsplit(r.url).netloc))
        page.goto((server or self.server).url + "/")
        return page

    def tearDown(self):
        unexpected = [c for c in self.complaints if not any(part in c for part in self.expected_complaints)]
        self.assertEqual(unexpected, [])
        self.assertTrue(all(h.startswith("127.0.0.1:") for h in self.hosts), self.hosts)

    def evaluate(self, module, body, argument=None):
        """What the function body gives; `m` is one of the page's modules, `x` the argument."""
        return self.page.evaluate(f"async (x) => {{ const m = await import('/web/{module}'); {body} }}", argument)

    def ask(self, text, page=None):
        page = page or self.page
        page.get_by_label("Message", exact=True).fill(text)
        page.keyboard.press("Enter")

    def answers_with(self, *pieces, **last):
        """From now on the page is given this answer instead of the server's."""
        self.answers_with_body(stream_of(*pieces, **last))

    def answers_with_body(self, body):
        self.page.route("**/v1/chat/completions",
                        lambda route: route.fulfill(status=200, content_type="text/event-stream", body=body))

    def answer(self, page=None):
        """The last answer, complete."""
        found = (page or self.page).get_by_role("article", name="Answer").last
        expect(found).to_have_attribute("aria-busy", "false")
        return found
