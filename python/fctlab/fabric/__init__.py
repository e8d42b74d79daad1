"""SLOs of classes across a whole fabric: a scenario whose classes say what must hold.

* `asked` reads it; `windows` runs it, on the fluid or on packets, under seeds of their own.
* `accuracy` knows how far the fluid is from packets; `judging` gives SLIs and verdicts.
* `predicting`, `verifying`, `planning` and `whatifs` are the questions.
* `importing` makes scenarios of flow logs, `watching` does so as they come in.
* `words` and `pictures` show answers, `saved` keeps them.

>>> from fctlab import fabric
>>> found = fabric.predict("scenarios/fabric-slos.toml")  # doctest: +SKIP
"""

from fctlab.fabric.planning import plan
from fctlab.fabric.predicting import predict
from fctlab.fabric.types import FabricPlan, FabricPrediction, FabricWhatIf, Verification
from fctlab.fabric.verifying import verify
from fctlab.fabric.whatifs import whatif

__all__ = [
    "FabricPlan",
    "FabricPrediction",
    "FabricWhatIf",
    "Verification",
    "plan",
    "predict",
    "verify",
    "whatif",
]
