"""``python -m fctlab`` is the program ``fctlab``."""

from fctlab.cli.app import main

if __name__ == "__main__":
    main()
