"""Where the real models lie, and what to do without them."""

import os
import sys

FOLDER = os.environ.get("TOCCATA_MODELS") or os.path.expanduser("~/.cache/toccata/models")
SKIPPED = 77


def require(name):
    """The model's path. Ends the program if it is missing: skipped, or failed when TOCCATA_REQUIRE_MODELS is set."""
    path = os.path.join(FOLDER, name)
    if not os.path.exists(path):
        print(f"{path} is missing: fetch it with scripts/fetch_models.py all, or set TOCCATA_MODELS")
        sys.exit(1 if os.environ.get("TOCCATA_REQUIRE_MODELS") else SKIPPED)
    return path
