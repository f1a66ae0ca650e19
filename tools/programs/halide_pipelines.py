# halide_pipelines.py host|cuda: pipelines of Halide's Python package, scheduled for the target; their results as JSON.
import json
import random
import sys

import halide as hl

WIDTH, HEIGHT = 192, 96
x, y, xi, yi, xo, yo, u = [hl.Var(name) for name in ["x", "y", "xi", "yi", "xo", "yo", "u"]]
on_gpu = sys.argv[1] == "cuda"
target = hl.Target("x86-64-linux-cuda-cuda_capability_61" if on_gpu else "x86-64-linux")
random.seed(5)


def image(element, value):
    buffer = hl.Buffer(element, [WIDTH, HEIGHT])
    for row in range(HEIGHT):
        for column in range(WIDTH):
            buffer[column, row] = value()
    return buffer


floats = image(hl.Float(32), random.random)
integers = image(hl.Int(32), lambda: random.randrange(1000))


def tiles():
    source, across, down = hl.BoundaryConditions.repeat_edge(floats), hl.Func("across"), hl.Func("down")
    across[x, y] = (source[x - 1, y] + source[x, y] + source[x + 1, y]) / 3.0
    down[x, y] = (across[x, y - 1] + across[x, y] + across[x, y + 1]) / 3.0
    if on_gpu:
        down.gpu_tile(x, y, xi, yi, 16, 8)
        across.compute_at(down, x).gpu_threads(x, y)
    return down, hl.Float(32), [WIDTH, HEIGHT]


def reduction():
    along, total = hl.RDom([(0, WIDTH)]), hl.Func("total")
    total[y] = 0
    total[y] += integers[along, y]
    if on_gpu:
        total.gpu_tile(y, yi, 32)
        total.update().gpu_tile(y, yi, 32)
    return total, hl.Int(32), [HEIGHT]


def partial_maxima():
    along, largest, outer, inner = hl.RDom([(0, WIDTH)]), hl.Func("largest"), hl.RVar("outer"), hl.RVar("inner")
    largest[y] = 0
    largest[y] = hl.max(largest[y], integers[along, y])
    if on_gpu:
        parts = largest.update().split(along, outer, inner, 16).rfactor(inner, u)
        largest.gpu_tile(y, yi, 8)
        largest.update().gpu_tile(y, yi, 8)
        parts.compute_root().gpu_tile(y, yi, 8)
        parts.update().gpu_tile(y, yi, 8)
    return largest, hl.Int(32), [HEIGHT]


def warp_shuffles():
    source, middle, sums = hl.BoundaryConditions.repeat_edge(integers), hl.Func("middle"), hl.Func("sums")
    middle[x, y] = source[x, y] * 3 + 1
    sums[x, y] = middle[x - 1, y] + middle[x, y] * 2 + middle[x + 1, y]
    if on_gpu:
        sums.tile(x, y, xo, yo, xi, yi, 30, 4).gpu_blocks(xo, yo).gpu_threads(yi).gpu_lanes(xi)
        middle.compute_at(sums, yi).gpu_lanes(x)
    return sums, hl.Int(32), [WIDTH, HEIGHT]


def product():
    along, result = hl.RDom([(0, WIDTH)]), hl.Func("result")
    result[x, y] = 0.0
    result[x, y] += floats[along, y] * floats[along, x]
    if on_gpu:
        result.gpu_tile(x, y, xi, yi, 16, 16)
        result.update().gpu_tile(x, y, xi, yi, 16, 16)
    return result, hl.Float(32), [HEIGHT, HEIGHT]


def histogram():
    over, counts = hl.RDom([(0, WIDTH), (0, HEIGHT)]), hl.Func("counts")
    counts[x] = 0
    counts[hl.cast(hl.Int(32), integers[over.x, over.y] % 64)] += 1
    if on_gpu:
        counts.gpu_tile(x, xi, 32)
        counts.update().atomic().gpu_tile(over.x, over.y, hl.RVar("inner_x"), hl.RVar("inner_y"), 16, 8)
    return counts, hl.Int(32), [64]


results = {}
for pipeline in [tiles, reduction, partial_maxima, warp_shuffles, product, histogram]:
    function, element, shape = pipeline()
    out = hl.Buffer(element, shape)
    function.realize(out, target)
    if on_gpu:
        out.copy_to_host()
    results[pipeline.__name__] = [out[i] for i in range(shape[0])] if len(shape) == 1 else [
        out[i, j] for j in range(shape[1]) for i in range(shape[0])]
json.dump(results, sys.stdout)
