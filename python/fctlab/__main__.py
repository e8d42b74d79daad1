"""``python -m fctlab`` is the program ``fctlab``."""

from fctlab.cli import main

if __name__ == "__main__":
    main()
