#!/usr/bin/env python3
"""Prints "passed failed skipped" of a CTest JUnit file. usage: count_tests.py FILE"""

import sys
import xml.etree.ElementTree as ElementTree


def main():
    passed = failed = skipped = 0
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        skip = case.find("skipped")
        if case.get("status") == "run":
            passed += 1
        elif skip is not None and skip.get("message", "").startswith("SKIP_"):
            skipped += 1  # the test says so itself; a missing program counts as failed
        else:
            failed += 1
    print(passed, failed, skipped)


if __name__ == "__main__":
    main()
