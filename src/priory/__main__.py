"""`python -m priory`: the command `priory`, where that is not in the PATH."""

from priory.cli import main

if __name__ == "__main__":
    main()
