"""Network cards that schedule by themselves: the same as a ``dcb -batch`` file.

Facts are from the manual pages dcb-ets(8) and dcb-app(8) of iproute2 and IEEE 802.1Q, section 37:
eight traffic classes, of which strict ones are served by number, highest first; the percent of the
others sum to 100; ``dscp-prio`` gives the priority of a code point.
"""

from __future__ import annotations

from fctlab.export import percent
from fctlab.export.types import Form

TCS = 8


def batch(form: Form) -> str:
    """Lines for every port; empty where there are more classes than such cards have."""
    count = len(form.queues)
    if count > TCS:
        return ""
    tcs = {each.name: count - 1 - place for place, each in enumerate(form.queues)}
    shares = percent.of([weight for _, weight in form.weighted])
    kinds, rates, places, codes = [], [], [], []
    widths = dict(zip((each.name for each, _ in form.weighted), shares, strict=True))
    for each in form.queues:
        tc = tcs[each.name]
        kinds.append(f"{tc}:{'ets' if each.name in widths else 'strict'}")
        rates.append(f"{tc}:{widths.get(each.name, 0)}")
        places.append(f"{tc}:{tc}")
        codes += [f"{code}:{tc}" for code in each.dscps]
    ets = f"tc-tsa {' '.join(kinds)} tc-bw {' '.join(rates)} prio-tc all:0 {' '.join(places)}"
    lines = []
    for port in form.ports:
        lines.append(f"ets set dev {port} willing off {ets}")
        lines.append(f"app replace dev {port} dscp-prio {' '.join(codes)}")
    return "".join(f"{line}\n" for line in lines)
