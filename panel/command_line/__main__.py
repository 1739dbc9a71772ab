"""Runs the client from its folder, wherever that lies and whatever it is called."""

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    folder = Path(__file__).resolve().parent
    # Python puts the folder itself there, whose modules are no top-level ones. The one above comes last: in a checkout
    # it holds files such as celery.py.
    del sys.path[0]
    sys.path.append(str(folder.parent))
    importlib.import_module(folder.name).pooldeck(prog_name="pooldeck")
