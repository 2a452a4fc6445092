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
    "kerple-log": {"p": [0.3, 1.1, 0.05, 1.9], "a": [2.0, 0.4, 0.9, 0.02]},
    "kerple-power": {"a": [0.3, 1.1, 0.05, 0.7], "p": [1.7, 0.4, 0.9, 0.2]},
    "sandwich": {"width": 12, "base": 500.0},
    "tisa": {name: RNG.normal(size=(3, 4)) for name in ("amplitude", "sharpness", "centre")},
    "rope": {"fraction": 0.5, "layout": "interleaved"},
    "fire": {
        "threshold": 6.0,
        "w2": RNG.normal(size=(4, 8)),
        "w1": RNG.normal(size=8),
        "b1": RNG.normal(size=8),
    },
    "xpos": {"scale_base": 12.0},
    "shaw": {"clip": 3, "side": "both", "table": RNG.normal(size=(7, 8))},
    "music": {"table": RNG.normal(size=(4, 24, 8))},
    "transformer-xl": {
        "u": RNG.normal(size=(4, 8)),
        "v": RNG.normal(size=(4, 8)),
        "w_r": RNG.normal(size=(4, 10, 8)) / 3,
    },
    "xlnet": {"segments": RNG.normal(size=(2, 4, 8)), "width": 12},
    "deberta": {
        "span": 8,
        "num_buckets": 8,
        "max_distance": 20,
        "k_r": RNG.normal(size=(4, 16, 8)),
        "q_r": RNG.normal(size=(4, 16, 8)),
    },
    "cope": {"table": RNG.normal(size=(5, 8))},
    "fox": {"w": RNG.normal(size=(4, 8)), "gate_bias": 0.5},
    "cable": {"w": RNG.normal(size=(4, 8)), "gate_bias": 0.5},
    "swin": {"width": 5, "table": RNG.normal(size=(9 * 9, 4))},
    "swin-v2": {"width": 5, "logit_scale": RNG.normal(size=4)},
    "beit": {"width": 5, "table": RNG.normal(size=(9 * 9 + 3, 4))},
    "absolute": {"kind": "learned"},
}
