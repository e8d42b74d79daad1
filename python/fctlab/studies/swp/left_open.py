"""What the paper on SWP leaves open. Its claims ask the link model: a choice changes their lab."""

from __future__ import annotations

from fctlab.studies.framework.left_open import Choice, LeftOpen, NotTried, OpenSetting
from fctlab.studies.swp.readings import DELIVERY, IDEAL

LEFT_OPEN = LeftOpen(
    (
        OpenSetting(
            "where a controlled flow starts",
            "its rate relaxes from r_init (equations 2 and 7)",
            "Chosen after the fact: it fits packets better.",
            (Choice("ideal", "flows go on at R(t)", settings=IDEAL.changes),),
        ),
        OpenSetting(
            "end of a slowdown",
            "a round trip, as in the example of section 2",
            "An application waits for the last byte.",
            (Choice("delivery", "slowdown one way", settings=DELIVERY.changes),),
        ),
        OpenSetting(
            "header bytes",
            "none in the model (table 2 has no such parameter)",
            "The HPCC simulator, with which the paper compares, has 48 bytes for each 1,000.",
            (Choice("headers", "packets have headers of 48 bytes", settings={"header": "48B"}),),
        ),
        OpenSetting(
            "T at other capacities",
            "100 KB, table 2's, at every one",
            "Table 2 has it for 100 Gbps; thresholds of switches follow the rate of a port.",
            (Choice("t-follows", "T follows the link (8 us of it)", settings={"thresh": "8us"}),),
        ),
        OpenSetting(
            "bucket of figure 2",
            "60 mean messages",
            'The paper has no size; "reasonable tail delay" holds of many.',
            (
                Choice("bucket-20", "figure 2's bucket is a third", settings={"bucket": 20.0}),
                Choice("bucket-80", "figure 2's bucket is a third more", settings={"bucket": 80.0}),
            ),
        ),
    ),
    (
        NotTried("T per class or per port", "of each class (cc.thresh); no key has it per port"),
        NotTried("sigma and sizes of a class", "the paper says that each class draws its own"),
    ),
)
