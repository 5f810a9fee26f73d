#!/usr/bin/env python3
"""schemathesis makes requests from /openapi.json: no crash, no 5xx, and every answer is as the description says.

Needs $TOCCATA_PYTHON with the package. The time is bounded, and the seed fixed.
"""

import os
import subprocess
import sys

from serving import ServerTest, main
from venv_python import run_with_packages

run_with_packages(__file__, "schemathesis")

CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
          "unsupported_method", "allow_header_conformance", "ignored_auth"]


class Schema(ServerTest):
    arguments = ("--kv-memory", "32M", "--api-key", "secret")

    def test_requests_made_from_the_description(self):
        done = subprocess.run([sys.executable, "-m", "schemathesis.cli", "run", self.server.url + "/openapi.json",
                               "--header", "Authorization: Bearer secret", "--phases", "coverage,fuzzing",
                               "--max-examples", "20", "--max-time", "40", "--seed", "1", "--continue-on-failure",
                               "--checks", ",".join(CHECKS)],
                              cwd=self.folder, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])
        self.assertIn("Tested: 11", done.stdout)
        self.assertTrue(self.server.settle())

    def test_the_description_names_all_routes(self):
        paths = self.server.get("/openapi.json")[2]["paths"]
        for path, methods in paths.items():
            for method in methods:
                status = self.server.request(method.upper(), path.replace("{id}", "tiny"))[0]
                self.assertIn(status, (200, 400, 401), path)


if __name__ == "__main__":
    main()
