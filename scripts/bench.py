#!/usr/bin/env python3
"""Measure live pictures of long attention against the straightforward way, and against bare arithmetic.

    scripts/bench.py                              n = 4,096, 32,768 and 131,072 on the CPU: some ten minutes
    scripts/bench.py --quick                      n = 2,048 and 4,096: under a minute
    scripts/bench.py --device cuda --sizes 131072 1048576
    scripts/bench.py --window 529 1024            only the window under a moving hand, see bench_window.py
    scripts/bench.py --json results.json

Every size and mask is measured in a process of its own, so that memory can be told apart. Times are medians.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from relpos_viewer.core.attention import attention
from relpos_viewer.core.crew import Crew
from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.field_cost import free_memory, gigabytes
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.pooling import pool
from relpos_viewer.core.quantise import quantise
from relpos_viewer.core.row_statistics import COLS, ROWS, parts
from relpos_viewer.core.score_field import ScoreField

D, BRUSH, DISPLAY = 64, 64, (512, 512)
STAGES = ("content", "positional", "scores", "weights")
CAUSAL = ("causal", "window:300", "left-padding:99")  # masks under which no query sees a later key


class Stopped(Exception):  # noqa: N818
    """Raised in a pass that was asked to stop."""


class Watch:
    """Lets a pass be stopped from another thread."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def check(self) -> None:
        if self.asked.is_set():
            raise Stopped

    def progress(self, fraction: float) -> None:
        pass


def clock(work: Callable[[], Any], device: torch.device) -> float:
    began = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - began


def median(
    work: Callable[[], Any], device: torch.device, budget: float = 3.0, least: int = 3, most: int = 25
) -> float:
    """Median seconds of a call, after one that is not counted."""
    times: list[float] = []
    clock(work, device)
    while len(times) < least or (sum(times) < budget and len(times) < most):
        times.append(clock(work, device))
    return statistics.median(times)


def tensors(n: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(n, D, generator=generator) for _ in "qk")
    return q.to(device), k.to(device)


def four_images(field: ScoreField) -> list[np.ndarray]:
    """The four panels as bytes, on limits that are exact."""
    n, images = field.n_key, []
    for stage in STAGES:
        low, high = field.extent(stage)
        bound = max(abs(low), abs(high)) or 1.0
        levels = Levels(0.0, high or 1.0) if stage == "weights" else Levels(-bound, bound)
        values, shown = field.tile(stage, (0, n), (0, n), DISPLAY, "mean")
        images.append(quantise(values, shown, levels))
    return images


def straightforward(n: int, mask: str, device: torch.device) -> float | str:
    """Gather the bias, add, softmax over n², min–max of all four matrices to bytes."""
    # Four matrices, the index of the gather (int64) and two copies on the way.
    needed = n * n * (4 * 4 + 8 + 2 * 4)
    free = free_memory(device)
    if free is not None and needed > free:
        return f"needs {gigabytes(needed)}, {gigabytes(free)} are free"
    q, k = tensors(n, device)
    curve = encoding("alibi", heads=1).curve(n)[0].to(device)  # [2n−1]
    place = torch.arange(n, device=device)
    hidden = place[None, :] > place[:, None] if mask == "causal" else None  # [n, n]

    def work() -> list[torch.Tensor]:
        content = q @ k.T / math.sqrt(D)  # [n, n]
        positional = curve[place[None, :] - place[:, None] + n - 1]  # [n, n]
        scores = content + positional  # [n, n]
        weights = (scores if hidden is None else scores.masked_fill(hidden, -math.inf)).softmax(-1)  # [n, n]
        images = []
        for matrix in (content, positional, scores, weights):
            low, high = matrix.amin(), matrix.amax()
            images.append(((matrix - low) * (255 / (high - low))).to(torch.uint8))
        return images

    return median(work, device, budget=10, most=9)


def floor(n: int, mask: str, device: torch.device, repeats: int) -> float:
    """Block by block q·kᵀ and exp over the cells that the mask leaves, on every core."""
    q, k = tensors(n, device)
    crew = Crew(device)

    def job(rows: tuple[int, int]) -> None:
        stop = rows[1] if mask == "causal" else n
        for c, d in parts(stop, COLS):
            block = crew.scratch("floor", (rows[1] - rows[0]) * (d - c), q.dtype).view(-1, d - c)
            torch.mm(q[slice(*rows)], k[c:d].T, out=block).exp_()

    blocks = parts(n, ROWS)[::-1]
    crew.run(job, blocks[:4])
    taken = statistics.median(clock(lambda: crew.run(job, blocks), device) for _ in range(repeats))
    crew.close()  # its memory is not the field's
    return taken


def one_size(n: int, mask: str, device: torch.device, quick: bool) -> dict[str, Any]:
    repeats = 3 if n <= 40_000 and not quick else 1
    result: dict[str, Any] = {"n": n, "mask": mask, "device": str(device)}
    memory = peak_memory(device)
    q, k = tensors(n, device)

    def made() -> ScoreField:
        return ScoreField(q, k, encoding="alibi", mask=mask, device=device, display=DISPLAY)

    field = made()
    view = ((0, n), (0, n), DISPLAY)
    result["preview_s"] = median(lambda: field.preview("weights", *view), device, budget=1)
    firsts, floors = [], []
    for _ in range(repeats):  # taken in turn, as other programs come and go
        floors.append(floor(n, mask, device, 1))
        field.close()
        field = made()
        firsts.append(clock(lambda: four_images(field), device))  # noqa: B023  called at once
    result["first_s"], result["floor_s"] = statistics.median(firsts), statistics.median(floors)
    result["first_per_floor"] = statistics.median(a / b for a, b in zip(firsts, floors, strict=True))

    rng = np.random.default_rng(0)
    offsets = np.arange(-BRUSH - 6, -6)

    def drag() -> None:
        field.edit(0, offsets, rng.normal(size=BRUSH))
        four_images(field)

    def elsewhere() -> None:
        nonlocal offsets
        offsets = (offsets - 100) if offsets[0] - 100 > -n else np.arange(-BRUSH - 6, -6)
        drag()

    def sideways() -> None:
        nonlocal offsets
        offsets = offsets - 3 if offsets[0] - 3 > -n else np.arange(-BRUSH - 6, -6)
        drag()

    result["travel_s"] = median(sideways, device, budget=3, least=5, most=50)
    result["take_hold_s"] = median(elsewhere, device, budget=2, least=3, most=9)
    result["edit_s"] = median(drag, device)
    result["refresh_drift"] = field.refresh()
    result["memory"] = peak_memory(device) - memory
    result["memory_said"] = field.cost.memory

    watch, times = Watch(), {}
    slow = made()

    def stop() -> None:
        times["asked"] = time.perf_counter()
        watch.asked.set()

    timer = threading.Timer(min(0.3 * result["first_s"], 1.0), stop)
    timer.start()
    try:
        slow.prepare(cancel=watch)
    except Stopped:
        result["cancel_s"] = time.perf_counter() - times["asked"]
    timer.cancel()
    return result


def peak_memory(device: torch.device) -> int:
    """Most bytes that this process, or its tensors on a GPU, have taken so far."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def exactness(device: torch.device, n: int, edits: int) -> dict[str, Any]:
    """Every family and mask against float64, and the drift after many edits."""
    generator = torch.Generator().manual_seed(1)
    q, k = (torch.randn(1, n, D, generator=generator) for _ in "qk")
    rng = np.random.default_rng(1)
    table = rng.normal(size=(1, 2 * n - 1))
    worst_weight = worst_log = 0.0
    masks = ("none", "causal", "window:300", "prefix:100", "padding:99", "left-padding:99")
    masks = (*masks, f"documents:{n - n // 3},{n // 3}", rng.random((n, n)) < 0.5)
    view = ((0, n), (0, n), (n, n))
    for name in FAMILIES:
        family = encoding(name, table=table) if name == "curve" else encoding(name)
        scores = attention(q.double(), k.double(), encoding=family).scores[0]  # [n, n]
        for mask in masks:
            if name == "xpos" and (not isinstance(mask, str) or mask not in CAUSAL):
                continue  # made for causal models: with keys after the query its scores grow beyond float32's digits
            visible = parse_mask(mask).visible(n, n)  # [n, n]
            exact = scores.masked_fill(~visible, -math.inf)  # [n, n]
            log = exact.logsumexp(-1)  # [n]
            field = ScoreField(q, k, encoding=family, mask=mask, device=device)
            weights = torch.from_numpy(field.tile("weights", *view)[0])  # [n, n]
            sees = log.isfinite()  # [n]
            off = weights - (exact - log.where(sees, 0.0)[:, None]).exp()  # [n, n]
            worst_weight = float(np.maximum(worst_weight, off.abs().max()))  # what is no number stays none
            off = torch.from_numpy(field.log_normalisers())[sees] - log[sees]
            worst_log = float(np.maximum(worst_log, off.abs().max()))
            field.close()
        print(f"exactness, {name}: done", file=sys.stderr)
    m = min(n, 1024)  # long enough for diagonals to be held apart
    field = ScoreField(q[:, :m], k[:, :m], encoding="alibi", mask="causal", device=device, display=(64, 64))
    field.prepare()
    for step in range(edits):
        first = int(rng.integers(1 - m, m - BRUSH))
        offsets = np.arange(first, first + int(rng.integers(1, BRUSH)))
        kind = step % 4  # anything; a dominant entry; the same lowered; a dip
        values = (rng.uniform(-30, 30, len(offsets)), 30.0, -30.0, -1e4)[kind]
        field.edit(0, [0, -1] if kind in (1, 2) else offsets, values)
    exact = attention(
        q[:, :m].double(), k[:, :m].double(), encoding="alibi", mask="causal", edit=field.curve()
    )
    small = ((0, m), (0, m), (64, 64))
    wanted = pool(exact.weights[0], exact.visible[0], *small, "mean")[0]
    drift = float(np.abs(field.tile("weights", *small)[0] - wanted).max())
    before = field.refresh()
    return {
        "n": n,
        "weights_off": worst_weight,
        "log_normaliser_off": worst_log,
        "edits": edits,
        "weights_off_after_edits": drift,
        "drift_found_by_refresh": before,
        "drift_after_refresh": field.refresh(),
    }


def slope(results: list[dict[str, Any]], what: str, mask: str) -> float | None:
    """Least-squares slope of log time over log n."""
    points = [
        (math.log(each["n"]), math.log(each[what]))
        for each in results
        if each["mask"] == mask and what in each
    ]
    return float(np.polyfit(*zip(*points, strict=True), 1)[0]) if len(points) > 1 else None


def in_own_process(arguments: list[str], script: str = __file__) -> Any:
    done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
    return json.loads(done.stdout.splitlines()[-1])


def seconds(value: float | str | None) -> str:
    if not isinstance(value, float):
        return "—" if value is None else "none"
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def table(results: list[dict[str, Any]]) -> str:
    titles = (
        *("n", "mask", "straightforward", "floor", "first picture", "÷ floor", "preview"),
        *("edit", "× faster", "travelling", "new offsets", "cancel", "memory"),
    )
    rows = [titles, ("---",) * len(titles)]
    for each in results:
        plain, edit = each.get("straightforward_s"), each["edit_s"]
        rows.append(
            (
                f"{each['n']:,}",
                each["mask"],
                seconds(plain),
                seconds(each["floor_s"]),
                seconds(each["first_s"]),
                f"{each['first_per_floor']:.2f}",
                seconds(each["preview_s"]),
                seconds(edit),
                f"{plain / edit:.0f}" if isinstance(plain, float) else "—",
                seconds(each["travel_s"]),
                seconds(each["take_hold_s"]),
                seconds(each.get("cancel_s")),
                gigabytes(each["memory"]),
            )
        )
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def window_table(results: list[dict[str, Any]]) -> str:
    titles = (
        *("n", "drag", "platform", "move to painted", "90 %", "worst"),
        *("of it in the worker", "longest the window stood still"),
    )
    rows = [titles, ("---",) * len(titles)]
    for each in results:
        times = ("move_to_painted_s", "move_to_painted_90_s", "move_to_painted_worst_s", "frame_s")
        shown = [seconds(each[what]) for what in (*times, "longest_blocked_s")]
        rows.append((f"{each['n']:,}", each["drag"], each["platform"], *shown))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def under_hands(sizes: list[int]) -> tuple[list[dict[str, Any]], list[str]]:
    """Measure the window at each length; what could not be measured is said."""
    results: list[dict[str, Any]] = []
    failed = []
    script = str(Path(__file__).resolve().with_name("bench_window.py"))
    for n in sizes:
        drags = in_own_process([str(n)], script)
        if isinstance(drags, str):
            failed.append(f"window at n = {n:,}: {drags}")
        else:
            results += drags
    return results, failed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda, mps or xpu")
    parser.add_argument("--sizes", type=int, nargs="+", help="sequence lengths")
    parser.add_argument("--masks", nargs="+", default=["causal", "none"], help="masks")
    parser.add_argument("--quick", action="store_true", help="short sequences and few edits")
    parser.add_argument("--json", type=Path, help="write the results here too")
    parser.add_argument(
        "--readme",
        type=Path,
        metavar="JSON",
        help="write README.md's figures from such results, without measuring",
    )
    parser.add_argument(
        "--window", type=int, nargs="+", metavar="N", help="measure the window alone, N tokens"
    )
    parser.add_argument("--one", nargs=2, metavar=("N", "MASK"), help=argparse.SUPPRESS)
    parser.add_argument("--plain", nargs=2, metavar=("N", "MASK"), help=argparse.SUPPRESS)
    parser.add_argument("--exact", type=int, nargs=2, metavar=("N", "EDITS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    device = torch.device(options.device)
    if options.readme:
        write_readme(json.loads(options.readme.read_text(encoding="utf-8")))
        return
    if options.one:
        print(json.dumps(one_size(int(options.one[0]), options.one[1], device, options.quick)))
        return
    if options.plain:
        print(json.dumps(straightforward(int(options.plain[0]), options.plain[1], device)))
        return
    if options.exact:
        print(json.dumps(exactness(device, *options.exact)))
        return

    machine = f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}"
    if options.window:
        drags, failed = under_hands(options.window)
        print(f"{machine}\n\n{window_table(drags)}\n")
        print(*failed, sep="\n")
        if options.json:
            report = {"machine": machine, "window": drags, "not_run": failed}
            options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
        return

    sizes = options.sizes or (
        [2048, 4096] if options.quick else [4096, 8192, 16_384, 32_768, 65_536, 131_072]
    )
    common = ["--device", options.device, *(["--quick"] if options.quick else [])]
    report: dict[str, Any] = {
        "machine": machine,
        "float32": "TF32 on" if torch.backends.cuda.matmul.allow_tf32 else "TF32 off",
        "results": [],
        "not_run": [],
    }

    def keep(**found: Any) -> None:
        """Take in what has been measured, and write it down: the rest may be cut off."""
        report.update(found)
        if options.json:
            options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")

    results, failed = report["results"], report["not_run"]
    if not options.quick:
        drags, not_drawn = under_hands([529, 1024])
        failed += not_drawn
        keep(window=drags)
        print(window_table(drags))
    for n in sizes:
        for mask in options.masks:
            each = in_own_process([*common, "--one", str(n), mask])
            if isinstance(each, str):
                failed.append(f"n = {n:,}, {mask}: {each}")
                continue
            each["straightforward_s"] = in_own_process([*common, "--plain", str(n), mask])
            if isinstance(each["straightforward_s"], str):
                failed.append(f"straightforward at n = {n:,}, {mask}: {each['straightforward_s']}")
            results.append(each)
            growth = {
                f"{what} {mask}": slope([each for each in results if each["n"] <= 65_536], what, mask)
                for what in ("first_s", "edit_s", "travel_s", "take_hold_s")
                for mask in options.masks
            }
            keep(log_log_slopes=growth)
            print(f"n = {n:,} {mask}: done", file=sys.stderr)
    print(f"{machine}, {report['float32']}\n\n{table(results)}\n")
    print("log-log slopes:", json.dumps(report.get("log_log_slopes")))
    keep(
        exactness=in_own_process(
            [*common, "--exact", *(("1024", "500") if options.quick else ("2048", "10000"))]
        )
    )
    print("exactness:", json.dumps(report["exactness"]))
    print(*failed, sep="\n")


def write_readme(report: dict[str, Any]) -> None:
    """Put the ratios of a whole run between the marks of README.md's section on performance."""
    rows = [
        (
            "n",
            "mask",
            "first picture ÷ bare arithmetic",
            "edit of 64 offsets",
            "× faster than the plain way",
            "memory",
        ),
        ("---",) * 6,
    ]
    for each in report["results"]:
        plain = each["straightforward_s"]
        faster = f"{plain / each['edit_s']:.0f}" if isinstance(plain, float) else "does not fit in memory"
        rows.append(
            (
                f"{each['n']:,}",
                each["mask"],
                f"{each['first_per_floor']:.2f} ({seconds(each['first_s'])})",
                seconds(each["edit_s"]),
                faster,
                gigabytes(each["memory"]),
            )
        )
    exact = report["exactness"]
    brushes = " and ".join(
        f"{seconds(each['move_to_painted_s'])} at n = {each['n']:,}"
        for each in report.get("window", [])
        if each["drag"] == "brush"
    )
    text = "\n".join(
        [
            *(f"| {' | '.join(row)} |" for row in rows),
            "",
            f"Measured by `scripts/bench.py` on {report['machine']}, float32, d = 64, ALiBi. Against float64, over "
            f"every family and mask (xPos under causal ones) "
            f"at n = {exact['n']:,}: weights within {exact['weights_off']:.1e}, log-normalisers "
            f"within {exact['log_normaliser_off']:.1e}; after {exact['edits']:,} random edits within "
            f"{exact['weights_off_after_edits']:.1e}."
            + (f" From a move of the mouse to painted pixels in the window: {brushes}." if brushes else ""),
        ]
    )
    readme = Path(__file__).resolve().parent.parent / "README.md"
    before, mark, rest = readme.read_text(encoding="utf-8").partition("<!-- performance -->\n")
    _, end, after = rest.partition("<!-- end of performance -->")
    if not mark or not end:
        raise SystemExit("README.md has no marks for performance")
    readme.write_text(f"{before}{mark}\n{text}\n\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
