"""What PIAS published, on which other papers build: no study of its own.

`ns2` is its ns-2 experiment, `published` its demotion thresholds.
"""
