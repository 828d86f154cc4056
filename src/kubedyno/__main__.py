"""`python -m kubedyno` is the command."""

from kubedyno.cli import main

if __name__ == "__main__":
    main()
