#!/usr/bin/env python3
"""The web page as files: types, caching, the rules for browsers, and how to do without."""

import re

from serving import Server, ServerTest, main

TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
         "svg": "image/svg+xml"}


class WebFiles(ServerTest):
    arguments = ("--api-key", "secret", "--kv-memory", "32M")

    def all_files(self):
        """Paths of the page and of all that it names, directly or not."""
        found, todo = {}, ["/"]
        while todo:
            path = todo.pop()
            status, headers, body = self.server.get(path)
            self.assertEqual(status, 200, path)
            found[path] = headers
            names = re.findall(r'(?:src|href)="(/web/[^"]+)"', body) if path == "/" else []
            if path.endswith(".js") and not path.endswith(".min.js"):
                names += ["/web/" + n for n in re.findall(r'from "\./([^"]+)"', body)] + re.findall(r'"(/web/[^"]+)"', body)
            todo += [n for n in names if n not in found]
        return found

    def test_every_file_is_there_without_a_key(self):
        files = self.all_files()
        self.assertGreater(len(files), 10)
        for path, headers in files.items():
            suffix = "html" if path == "/" else path.rsplit(".", 1)[1]
            self.assertEqual(headers["content-type"], TYPES[suffix], path)
            self.assertEqual(headers["x-content-type-options"], "nosniff")
            policy = headers["content-security-policy"]
            self.assertIn("default-src 'none'", policy)
            for loose in ("unsafe", "*", "http", "data:"):
                self.assertNotIn(loose, policy)

    def test_a_browser_that_has_a_file_gets_none(self):
        tag = self.server.get("/")[1]["etag"]
        for given in (tag, f'"x", {tag}', "W/" + tag, "*"):
            status, headers, body = self.server.get("/", headers={"If-None-Match": given})
            self.assertEqual((status, headers["etag"], body), (304, tag, ""))
            self.assertNotIn("content-length", headers)
        self.assertEqual(self.server.get("/", headers={"If-None-Match": '"x"'})[0], 200)
        self.assertNotEqual(self.server.get("/web/main.js")[1]["etag"], tag)
        status, headers, body = self.server.request("HEAD", "/")
        self.assertEqual((status, headers["etag"], body), (200, tag, ""))
        self.assertGreater(int(headers["content-length"]), 1000)

    def test_other_names_are_refused(self):
        for path in ("/web/", "/web/none.js", "/web/../web/main.js", "/web/%2e%2e/main.js", "/web//main.js", "/web/main.js/",
                     "/index.html", "/web/main.js%00"):
            self.refused(404, None, self.server.get(path))
        self.refused(405, None, self.server.post("/", {}))

    def test_without_the_page(self):
        server = Server(self.model, "--no-webui", "--kv-memory", "32M")
        self.addCleanup(server.stop)
        for path in ("/", "/web/main.js"):
            self.refused(404, None, server.get(path))
        self.assertEqual(server.get("/v1/models")[0], 200)


if __name__ == "__main__":
    main()
