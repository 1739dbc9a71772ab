"""`python -m panel.upgrade`: the same as `pooldeckctl upgrade`, also of a checkout."""

import sys

from panel.upgrade.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
