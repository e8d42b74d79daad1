"""What the paper on SWP leaves open. Its claims ask the link model, not cells: no `--settings`.

Where a rate begins and where a slowdown ends are rows of their own instead (`readings`).
"""

from __future__ import annotations

from fctlab.studies.framework.left_open import LeftOpen, NotTried

LEFT_OPEN = LeftOpen(
    (),
    (
        NotTried("where a controlled flow starts", "at r_init; at R(t) in the rows ID-ideal"),
        NotTried("end of a slowdown", "a round trip; one way in the rows ID-delivery"),
        NotTried(
            "T per class or per port", "of each class (cc.thresh); no reading has it per port"
        ),
        NotTried("sigma and classes of a scenario", "sigma evenly from 1 to 2 for each class"),
        NotTried("header bytes", "those of the presets; no reading has others"),
    ),
)
