#!/usr/bin/env python3
"""Network trainer for a GPU, in JAX.

Does what `knightwatch train` does, on the files that `knightwatch export-positions` writes (crates/lab/src/export.rs
describes their layout): the same target, loss, optimizer and schedule. It takes every position by itself, not in runs,
and multiplies whole input vectors by the first layer, which is fast on a GPU.

    python3 train.py --data positions --hidden 1024 --epochs 20 --out net9.kwnn

Next to the network, net9.npz has the weights before they were rounded, with the moments of AdamW, for --from.
"""

import argparse
import functools
import math
import struct
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

# These constants are those of the Rust trainer; a test in crates/lab/src/trainer_tests.rs compares them.
INPUTS = 768
QA, QB = 255, 64
RECORD = 36
# Weights are clipped to this bound, so that they fit the engine's integers.
CLIP = 1.98
BETA1, BETA2 = 0.9, 0.999
# The schedule of `knightwatch train`.
WARM_UP, FINAL_RATE, ROUNDED_FROM = 0.005, 0.01, 0.85
# Larger scores, in centipawns, are not used to measure the scale.
UNDECIDED = 600
# Gradients of the first layer are multiplied by this while they are 16-bit numbers.
GRADIENT_UNIT = 64.0
PARAMS = ("weights", "biases", "outputs", "output_biases")


def inputs(boards):
    """The 768 inputs of both perspectives, the side to move first: [2n, 768]."""
    count = boards.shape[0]
    codes = jnp.stack([boards & 15, boards >> 4], axis=-1).reshape(count, 8, 8)
    flipped = codes[:, ::-1, :]
    other = jnp.where(flipped == 0, 0, jnp.where(flipped <= 6, flipped + 6, flipped - 6))
    views = jnp.concatenate([codes, other.astype(jnp.uint8)])
    king_side = jnp.any(views[:, :, 4:] == 6, axis=(1, 2))
    views = jnp.where(king_side[:, None, None], views[:, :, ::-1], views).reshape(2 * count, 1, 64)
    pieces = jnp.arange(1, 13, dtype=jnp.uint8)[None, :, None]
    return (views == pieces).astype(jnp.float16).reshape(2 * count, INPUTS)


@jax.custom_vjp
def first_layer(x, weights):
    return jnp.dot(x, weights.astype(jnp.float16), preferred_element_type=jnp.float32)


def first_layer_forward(x, weights):
    return first_layer(x, weights), x


def first_layer_backward(x, slope):
    slope = (slope * GRADIENT_UNIT).astype(jnp.float16)
    gradient = jnp.dot(x.T, slope, preferred_element_type=jnp.float32) / GRADIENT_UNIT
    return None, gradient


first_layer.defvjp(first_layer_forward, first_layer_backward)


def evaluate(params, boards):
    """The outputs: [n]."""
    x = inputs(boards)
    count = boards.shape[0]
    hidden = first_layer(x, params["weights"]) + params["biases"]
    active = jnp.square(jnp.clip(hidden, 0.0, 1.0))
    both = jnp.concatenate([active[:count], active[count:]], axis=1)
    outputs = jnp.dot(both, params["outputs"].T, precision="highest") + params["output_biases"]
    buckets = outputs.shape[1]
    pieces = jnp.sum(x[:count], axis=1, dtype=jnp.float32).astype(jnp.int32)
    bucket = (pieces - 2) * buckets // 31
    return jnp.sum(outputs * (bucket[:, None] == jnp.arange(buckets)), axis=1)


def rounded(params):
    """The weights as the engine's integers represent them."""
    units = {"weights": QA, "biases": QA, "outputs": QB, "output_biases": QA * QB}
    return {name: jnp.round(value * units[name]) / units[name] for name, value in params.items()}


def split(records):
    """Boards, scores and results of records."""
    words = records[:, 32:34].astype(jnp.int32)
    scores = words[:, 0] | words[:, 1] << 8
    scores = jnp.where(scores >= 1 << 15, scores - (1 << 16), scores).astype(jnp.float32)
    return records[:, :32], scores, records[:, 34].astype(jnp.float32) / 2.0


def squared_errors(outputs, scores, results, wdl, scale):
    target = wdl * results + (1.0 - wdl) * jax.nn.sigmoid(scores / scale)
    return jnp.square(jax.nn.sigmoid(outputs) - target)


def rate_at(rate, progress):
    share = 0.5 * (1.0 + jnp.cos(math.pi * progress))
    return rate * jnp.minimum(progress / WARM_UP, 1.0) * (FINAL_RATE + (1.0 - FINAL_RATE) * share)


def adam_step(params, first, second, gradient, rate, decay, age):
    first = jax.tree.map(lambda m, g: BETA1 * m + (1.0 - BETA1) * g, first, gradient)
    second = jax.tree.map(lambda v, g: BETA2 * v + (1.0 - BETA2) * g * g, second, gradient)
    correct1, correct2 = 1.0 - BETA1**age, 1.0 - BETA2**age

    def moved(weight, m, v):
        direction = (m / correct1) / (jnp.sqrt(v / correct2) + 1e-8)
        return weight * (1.0 - rate * decay) - rate * direction

    params = jax.tree.map(moved, params, first, second)
    clipped = {
        name: value if name == "output_biases" else jnp.clip(value, -CLIP, CLIP) for name, value in params.items()
    }
    return clipped, first, second


@functools.partial(jax.jit, donate_argnums=(0,), static_argnames=("settings",))
def train_part(state, records, order, total, settings):
    """Trains on the batches `order` [steps, batch] of `records`. Returns the state and the mean error."""
    rate, decay, wdl, scale = settings

    def one(state, batch):
        params, first, second, step, age = state
        progress = (step + 1) / total
        boards, scores, results = split(records[batch])

        def loss(params):
            exact = rounded(params)
            late = progress >= ROUNDED_FROM
            seen = jax.tree.map(lambda p, r: p + jax.lax.stop_gradient(jnp.where(late, r - p, 0.0)), params, exact)
            return jnp.sum(squared_errors(evaluate(seen, boards), scores, results, wdl, scale))

        error, gradient = jax.value_and_grad(loss)(params)
        mean = jax.tree.map(lambda g: g / batch.shape[0], gradient)
        params, first, second = adam_step(
            params, first, second, mean, rate_at(rate, progress), decay, (age + 1).astype(jnp.float32)
        )
        return (params, first, second, step + 1, age + 1), error / batch.shape[0]

    state, errors = jax.lax.scan(one, state, order)
    return state, jnp.mean(errors)


@functools.partial(jax.jit, static_argnames=("settings",))
def validate_part(params, records, settings):
    """Sums over positions: errors, |output| and |score| / scale of undecided ones."""
    _, _, wdl, scale = settings
    boards, scores, results = split(records)
    outputs = evaluate(rounded(params), boards)
    undecided = jnp.abs(scores) <= UNDECIDED
    return (
        jnp.sum(squared_errors(outputs, scores, results, wdl, scale)),
        jnp.sum(jnp.where(undecided, jnp.abs(outputs), 0.0)),
        jnp.sum(jnp.where(undecided, jnp.abs(scores) / scale, 0.0)),
    )


def validate(params, records, settings, batch=16_384):
    """The mean error of the rounded network, and the ratio of scores to outputs."""
    count = records.shape[0] // batch * batch or records.shape[0]
    parts = [validate_part(params, records[at : at + batch], settings) for at in range(0, count, batch)]
    errors, outputs, scores = (sum(float(part[at]) for part in parts) for at in range(3))
    return errors / count, scores / outputs


def random_params(hidden, buckets, seed):
    rng = np.random.default_rng(seed)

    def uniform(shape, bound):
        return rng.uniform(-bound, bound, shape).astype(np.float32)

    return {
        "weights": uniform((INPUTS, hidden), 0.0625),
        "biases": uniform((hidden,), 0.05) + np.float32(0.1),
        "outputs": uniform((buckets, 2 * hidden), 1.0 / math.sqrt(2 * hidden)),
        "output_biases": np.zeros(buckets, np.float32),
    }


def widened(params, hidden, seed):
    """More hidden units, with random inputs and zero output weights: the evaluation is the same."""
    before = params["weights"].shape[1]
    if before == hidden:
        return params
    if before > hidden:
        raise SystemExit(f"the network to continue from has {before} hidden units; use --hidden {before} or more")
    wide = random_params(hidden, params["outputs"].shape[0], seed)
    wide["weights"][:, :before] = params["weights"]
    wide["biases"][:before] = params["biases"]
    wide["outputs"][:] = 0.0
    wide["outputs"][:, :before] = params["outputs"][:, :before]
    wide["outputs"][:, hidden : hidden + before] = params["outputs"][:, before:]
    wide["output_biases"] = params["output_biases"]
    return wide


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def read_network(path, scale):
    """Reads a network file; rescales the output to `scale` centipawns per unit."""
    data = path.read_bytes()
    if len(data) < 64 or data[:4] != b"KWNN":
        raise SystemExit(f"{path} is not a network")
    _, count, hidden, buckets, _, _, own_scale = struct.unpack_from("<6Hi", data, 4)
    if count != INPUTS or len(data) != 64 + 2 * hidden * (INPUTS + 1 + 2 * buckets) + 4 * buckets:
        raise SystemExit(f"{path} has another shape, or a part of it is missing")
    sizes = [INPUTS * hidden, hidden, buckets * 2 * hidden]
    values = np.frombuffer(data, "<i2", sum(sizes), 64).astype(np.float32)
    weights, biases, outputs = np.split(values, np.cumsum(sizes)[:2])
    output_biases = np.frombuffer(data, "<i4", buckets, 64 + 2 * sum(sizes)).astype(np.float32)
    ratio = own_scale / scale
    return {
        "weights": weights.reshape(INPUTS, hidden) / QA,
        "biases": biases / QA,
        "outputs": np.clip(outputs.reshape(buckets, 2 * hidden) / QB * ratio, -CLIP, CLIP),
        "output_biases": output_biases / (QA * QB) * ratio,
    }


def write_network(path, params, scale, name):
    """Writes the file described in crates/engine/src/nnue/network.rs."""
    params = {key: np.asarray(value, np.float64) for key, value in params.items()}
    buckets, both = params["outputs"].shape
    header = b"KWNN" + struct.pack("<6Hi4x", 1, INPUTS, both // 2, buckets, QA, QB, scale)
    body = name.encode()[:32].ljust(32, b"\0")
    for key, unit, kind in (
        ("weights", QA, "<i2"),
        ("biases", QA, "<i2"),
        ("outputs", QB, "<i2"),
        ("output_biases", QA * QB, "<i4"),
    ):
        body += np.round(params[key] * unit).astype(kind).tobytes()
    path.write_bytes(header + struct.pack("<Q", fnv1a(header + body)) + body)


def load_state(path, scale, hidden, seed):
    """Weights of an .npz or network file, with the moments of AdamW if the file has them for this size."""
    if not path.is_file():
        raise SystemExit(f"{path} does not exist")
    if path.suffix != ".npz":
        return widened(read_network(path, scale), hidden, seed), None
    stored = np.load(path)
    groups = [{key: stored[f"{part}.{key}"] for key in PARAMS} for part in ("params", "first", "second")]
    if stored["scale"] != scale:
        raise SystemExit(f"{path} was trained with --scale {stored['scale']}")
    if groups[0]["weights"].shape[1] != hidden:
        return widened(groups[0], hidden, seed), None
    return groups[0], (groups[1], groups[2])


def read_records(path):
    if not path.is_file():
        raise SystemExit(f"{path} does not exist; `knightwatch export-positions` writes it")
    records = np.fromfile(path, np.uint8)
    if records.size == 0 or records.size % RECORD:
        raise SystemExit(f"{path} is not a file of positions")
    return jnp.asarray(records.reshape(-1, RECORD))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", type=Path, required=True, help="directories of export-positions")
    parser.add_argument("--out", type=Path, required=True, help="network file to write")
    parser.add_argument("--hidden", type=int, default=512, help="hidden units, a multiple of 32")
    parser.add_argument("--buckets", type=int, default=8, help="output rows")
    parser.add_argument("--epochs", type=float, default=10.0, help="passes over the positions; 0 only validates")
    parser.add_argument("--batch", type=int, default=16_384)
    parser.add_argument("--rate", type=float, default=0.001, help="highest learning rate")
    parser.add_argument("--decay", type=float, default=0.01, help="weight decay")
    parser.add_argument("--wdl", type=float, default=0.15, help="weight of the game's result in the target")
    parser.add_argument("--scale", type=float, default=190.0, help="centipawns per unit of output")
    parser.add_argument("--from", dest="start", type=Path, help="network or .npz file to continue from")
    parser.add_argument("--name", help="name of the network [default: its file name]")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.hidden % 32:
        parser.error("--hidden takes a multiple of 32")
    if not options.out.parent.is_dir():
        parser.error(f"--out: {options.out.parent} does not exist")
    settings = (options.rate, options.decay, options.wdl, options.scale)

    began = time.time()
    held_out = {str(folder): read_records(folder / "validation.samples") for folder in options.data}
    paths = [path for folder in options.data for path in sorted(folder.glob("training-*.samples"))]
    parts = [read_records(path) for path in paths]
    steps = [part.shape[0] // options.batch for part in parts]
    total = round(sum(steps) * options.epochs)
    if sum(steps) == 0:
        raise SystemExit(f"fewer positions than --batch {options.batch}")
    print(
        f"data: {sum(part.shape[0] for part in parts)} positions in {len(parts)} files, read in "
        f"{time.time() - began:.1f} s; {total} batches of {options.batch}; {vars(options)}; {jax.devices()[0]}",
        flush=True,
    )
    if options.start:
        params, moments = load_state(options.start, options.scale, options.hidden, options.seed)
    else:
        params, moments = random_params(options.hidden, options.buckets, options.seed), None
    first, second = moments or [jax.tree.map(np.zeros_like, params)] * 2
    params, first, second = jax.tree.map(jnp.array, (params, first, second))
    # Moments that were loaded need no correction for their start at zero.
    state = (params, first, second, jnp.int32(0), jnp.int32(100_000 if moments else 0))

    rng = np.random.default_rng(options.seed)
    key = jax.random.key(options.seed)
    began, done, epoch = time.time(), 0, 0
    while done < total:
        epoch += 1
        errors = []
        for part in rng.permutation(len(parts)):
            count = min(steps[part], total - done)
            if count == 0:
                continue
            key, now = jax.random.split(key)
            order = jax.random.permutation(now, parts[part].shape[0])[: steps[part] * options.batch]
            order = order.reshape(steps[part], options.batch)[:count]
            state, error = train_part(state, parts[part], order, jnp.float32(total), settings)
            errors.append(float(error))
            done += count
        seconds = time.time() - began
        found = "; ".join(
            f"{name} {validate(state[0], records, settings)[0]:.6f}" for name, records in held_out.items()
        )
        print(
            f"epoch {epoch:3}: loss {np.mean(errors):.6f}, validation {found}; "
            f"{done * options.batch / seconds / 1e6:.2f} M positions/s, {seconds:.0f} s",
            flush=True,
        )
    error, ratio = validate(state[0], list(held_out.values())[-1], settings)
    scale = round(options.scale * min(max(ratio, 0.5), 2.0))
    write_network(options.out, state[0], scale, options.name or options.out.stem)
    groups = zip(("params", "first", "second"), state[:3])
    np.savez(
        options.out.with_suffix(".npz"),
        scale=options.scale,
        **{f"{part}.{name}": np.asarray(value) for part, group in groups for name, value in group.items()},
    )
    print(f"written: {options.out}, scale {scale}, validation {error:.6f}", flush=True)


if __name__ == "__main__":
    main()
