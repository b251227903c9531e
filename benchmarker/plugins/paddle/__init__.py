"""PaddlePaddle: what is known of it without importing it."""

from __future__ import annotations

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.plugins.common.recorded_variables import names
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Options:
    """Options of PaddlePaddle.

    Parameters
    ----------
    to_static : bool
        Run the program through ``paddle.jit.to_static``, which traces it in the first step.
    """

    to_static: bool = False


_RECORDED = names(
    """
    FLAGS_allocator_strategy FLAGS_benchmark FLAGS_check_nan_inf FLAGS_cpu_deterministic FLAGS_enable_pir_api
    FLAGS_enable_pir_in_executor FLAGS_fast_eager_deletion_mode FLAGS_init_allocated_mem FLAGS_inner_op_parallelism
    FLAGS_new_executor_serial_run FLAGS_new_executor_use_inplace FLAGS_paddle_num_threads FLAGS_prim_all
    FLAGS_use_mkldnn FLAGS_use_pinned_memory FLAGS_use_stride_kernel
    """
)


def benchmarker_framework() -> FrameworkPlugin:
    """Return what is known of PaddlePaddle without importing it.

    Notes
    -----
    Its wheels of this version for a GPU are on an index of its own alone, so it runs on processors. Its float64 is none
    throughout: gradients of average pooling, weights of linear interpolation and the momentum of running statistics are
    rounded to float32, so the plug-in does not offer it.
    """
    return FrameworkPlugin(
        name="paddle",
        distribution="paddlepaddle",
        # It imports setuptools, and does not require it.
        requirements=("paddlepaddle==3.3.1", "numpy", "setuptools"),
        implementation="benchmarker.plugins.paddle.framework:PaddleFramework",
        python=">=3.9,<3.14",
        options=Options,
        # Else the executor of traced programs has threads of its own, which lose to other work on the machine.
        environment_defaults={"FLAGS_new_executor_serial_run": "1"},
        recorded_variables=_RECORDED,
    )
