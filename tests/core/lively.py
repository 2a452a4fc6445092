"""Every family with parameters that make its term lively and asymmetric: a sign error must show.

Four heads of width 8, and any length up to 24, unless a family says otherwise.
"""

from __future__ import annotations

import numpy as np

RNG = np.random.default_rng(5)
LIVELY = {
    "none": {},
    "curve": {"table": RNG.normal(size=(4, 9))},
    "t5": {"num_buckets": 8, "max_distance": 20, "table": RNG.normal(size=(8, 4))},
    "alibi": {},
    "rope": {"fraction": 0.5, "layout": "interleaved"},
    "absolute": {"kind": "learned"},
}
