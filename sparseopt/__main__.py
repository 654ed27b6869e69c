"""``python -m sparseopt``: the same as the command ``sparseopt``."""

from sparseopt.cli import main

if __name__ == "__main__":
    main(prog_name="sparseopt")
