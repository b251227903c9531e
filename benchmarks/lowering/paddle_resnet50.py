"""Our ResNet-50 on Paddle against that of ``paddle.vision``, side by side in one process, both traced and not.

Prints one JSON line for each comparison; ``ratio`` is our time over that of Paddle's own model. Run it with an
interpreter that has Paddle: ``python benchmarks/lowering/paddle_resnet50.py``.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# Paddle sets it to 1 where it is not set, and reads it when it is imported.
os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))
# As our plugin does: otherwise the executor of traced programs has threads of its own.
os.environ.setdefault("FLAGS_new_executor_serial_run", "1")

import numpy as np  # noqa: E402
import paddle  # noqa: E402
from paddle.vision.models import resnet50  # noqa: E402
from paired import compare  # noqa: E402

from benchmarker.api.framework import Device  # noqa: E402
from benchmarker.api.optimizer import Optimizer  # noqa: E402
from benchmarker.data.values import draw_batch  # noqa: E402
from benchmarker.plugins.paddle import Options  # noqa: E402
from benchmarker.plugins.paddle.framework import PaddleFramework  # noqa: E402
from benchmarker.problems.resnet import RESNET50  # noqa: E402

MOMENTUM = Optimizer("momentum", learning_rate=0.01, momentum=0.9)


def named_values(model: Any, names: list[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the model's parameters and running statistics under our names; the orders are the same."""
    arrays = [value.numpy().copy() for value in model.state_dict().values()]
    # The weight of the dense layer, which stands as (in, out).
    arrays[-2] = arrays[-2].T
    return dict(zip(names, arrays, strict=True))


def plain_steps(model: Any, x: Any, labels: Any, traced: bool) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return the inference and the training step of Paddle's own model."""
    optimizer = paddle.optimizer.Momentum(
        MOMENTUM.learning_rate, MOMENTUM.momentum, parameters=model.parameters()
    )
    criterion = paddle.nn.CrossEntropyLoss()
    called = paddle.jit.to_static(model, full_graph=True) if traced else model

    def infer() -> Any:
        with paddle.no_grad():
            return called(x)

    def train() -> Any:
        loss = criterion(called(x), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        return loss

    return infer, train


def compare_mode(mode: str, options: Options, arguments: argparse.Namespace) -> None:
    """Check that both models compute the same outputs or loss, then time them."""
    paddle.seed(0)
    graph = RESNET50.graph(arguments.batch_size, image_size=arguments.image_size)
    batch = draw_batch(graph, 0)
    graph = graph if mode == "training" else graph.without_loss()
    plain = resnet50()
    program = PaddleFramework().build(
        graph,
        named_values(plain, [p.name for p in graph.parameters]),
        mode=mode,
        device=Device("cpu"),
        precision="fp32",
        optimizer=MOMENTUM,
        options=options,
    )
    loaded = program.load(batch)
    if mode == "training":
        plain.train()
    else:
        plain.eval()
    x, labels = paddle.to_tensor(batch["image"]), paddle.to_tensor(batch["label"])
    infer, train = plain_steps(plain, x, labels, options.to_static)
    native = program.train_step if mode == "training" else program.infer
    ours: Callable[[], Any] = functools.partial(native, loaded)
    theirs = train if mode == "training" else infer
    found = program.fetch(ours())[0]
    np.testing.assert_allclose(found, theirs().numpy(), rtol=1e-3, atol=1e-3)
    settings = "to_static" if options.to_static else "dynamic"
    compare(f"paddle {mode} {settings}", ours, theirs, pairs=arguments.pairs).print()


def main() -> None:
    """Run every comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=12)
    arguments = parser.parse_args()
    PaddleFramework().configure(Device("cpu"), threads=int(os.environ["OMP_NUM_THREADS"]), seed=0)
    for options in (Options(), Options(to_static=True)):
        for mode in ("inference", "training"):
            compare_mode(mode, options, arguments)


if __name__ == "__main__":
    main()
