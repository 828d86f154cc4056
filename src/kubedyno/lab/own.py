"""The program of a lab's owner: `python -m kubedyno.lab.own FOLDER`."""

import sys

from kubedyno.kit.collecting import collect_seldom

if __name__ == "__main__":
    collect_seldom()
    from kubedyno.lab import owner

    sys.exit(owner.main(sys.argv[1]))
