"""`python -m cuprous` is the `cuprous` command."""

import sys

from cuprous.cli import main

sys.exit(main())
