"""The exponential of many numbers, at the same pace wherever they lie."""

from __future__ import annotations

import math

from torch import Tensor

# Below it e^x leaves the numbers that float32 holds in full.
LEAST = -87.0
LOG2_E = math.log2(math.e)


def exp_(values: Tensor, lowest: float = -math.inf) -> Tensor:
    """Replace numbers by their exponentials and return the tensor.

    torch's `exp` takes 100 to 400 times as long on a CPU where the result is 0 or denormal: a far bias, a mask, a dip
    in an edit. `exp2` does not, and costs one more pass.

    Args:
        values: any shape, changed in place.
        lowest: no number is smaller than this, as far as is known.
    """
    return values.exp_() if lowest > LEAST else values.mul_(LOG2_E).exp2_()
