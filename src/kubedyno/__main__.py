"""`python -m kubedyno` is the command."""

from kubedyno.kit.collecting import collect_seldom

if __name__ == "__main__":
    collect_seldom()
    from kubedyno.cli import main

    main()
