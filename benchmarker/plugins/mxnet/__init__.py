"""MXNet: symbols bound to an executor, with oneDNN on a CPU and cuDNN on a GPU."""

from __future__ import annotations

from benchmarker.api.framework import FrameworkPlugin, NativeScheme
from benchmarker.plugins.common.recorded_variables import names
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Options:
    """Options of MXNet.

    Parameters
    ----------
    fusion : bool
        Let inference on a CPU join convolutions and fully connected layers with what follows them
        (MXNet's oneDNN subgraph backend, its own default). What is joined keeps a copy of its weights, so nothing is
        joined in a problem whose weights come with the mini-batch.
    """

    fusion: bool = True


_RECORDED = names(
    """
    DMLC_PS_VAN_TYPE DMLC_PS_WATER_MARK MXNET_BACKWARD_DO_MIRROR MXNET_CPU_PARALLEL_RAND_COPY
    MXNET_CPU_PARALLEL_SIZE MXNET_CPU_PRIORITY_NTHREADS MXNET_CPU_TEMP_COPY MXNET_CPU_WORKER_NTHREADS
    MXNET_CUDA_ALLOW_TENSOR_CORE MXNET_CUDA_LIB_CHECKING MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION
    MXNET_CUDNN_AUTOTUNE_DEFAULT MXNET_CUDNN_LIB_CHECKING MXNET_DISABLE_MKLDNN_CONV_OPT
    MXNET_DISABLE_MKLDNN_FC_OPT MXNET_DISABLE_MKLDNN_FUSE_CONV_BN MXNET_DISABLE_MKLDNN_FUSE_CONV_RELU
    MXNET_DISABLE_MKLDNN_FUSE_CONV_SUM MXNET_DISABLE_MKLDNN_FUSE_FC_ELTWISE
    MXNET_DISABLE_MKLDNN_TRANSFORMER_OPT MXNET_ELIMINATE_COMMON_EXPR MXNET_ENABLE_CUDA_GRAPHS
    MXNET_ENABLE_GPU_P2P MXNET_ENFORCE_DETERMINISM MXNET_ENGINE_INFO MXNET_ENGINE_TYPE
    MXNET_EXEC_BULK_EXEC_INFERENCE MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN
    MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD
    MXNET_EXEC_BULK_EXEC_TRAIN MXNET_EXEC_ENABLE_ADDTO MXNET_EXEC_ENABLE_INPLACE
    MXNET_EXEC_INPLACE_GRAD_SUM_CAP MXNET_EXEC_NUM_TEMP MXNET_FC_TRUE_FP16 MXNET_FORCE_ADDTAKEGRAD
    MXNET_GPU_COPY_NTHREADS MXNET_GPU_CUDNN_DROPOUT_STATE_COPY MXNET_GPU_MEM_LARGE_ALLOC_ROUND_SIZE
    MXNET_GPU_MEM_POOL_PAGE_SIZE MXNET_GPU_MEM_POOL_RESERVE MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF
    MXNET_GPU_MEM_POOL_TYPE MXNET_GPU_PARALLEL_RAND_COPY MXNET_GPU_TEMP_COPY MXNET_GPU_WORKER_NSTREAMS
    MXNET_GPU_WORKER_NTHREADS MXNET_KVSTORE_BIGARRAY_BOUND MXNET_KVSTORE_REDUCTION_NTHREADS
    MXNET_KVSTORE_SERIAL_PUSH MXNET_KVSTORE_SLICE_THRESHOLD MXNET_KVSTORE_USETREE MXNET_LIBRARY_PATH
    MXNET_MEMORY_OPT MXNET_MKLDNN_CACHE_NUM MXNET_MKLDNN_DEBUG MXNET_MKLDNN_ENABLED
    MXNET_MKLDNN_FORCE_FC_AB_FORMAT MXNET_MP_OPENCV_NUM_THREADS MXNET_MP_WORKER_NTHREADS
    MXNET_OMP_MAX_THREADS MXNET_OPTIMIZER_AGGREGATION_SIZE MXNET_OUTPUT_TUNING_DATA
    MXNET_PROFILER_AUTOSTART MXNET_PROFILER_MODE MXNET_RNN_USE_WEIGHT_CACHE MXNET_SAFE_ACCUMULATION
    MXNET_SUBGRAPH_BACKEND MXNET_SUBGRAPH_VERBOSE MXNET_TUNING_WEIGHT_SCALE MXNET_UPDATE_ON_KVSTORE
    MXNET_USE_FUSION MXNET_USE_MKLDNN_RNN MXNET_USE_NUM_CORES_OPERATOR_TUNING MXNET_USE_OPERATOR_TUNING
    PS_DROP_MSG PS_HEARTBEAT_INTERVAL PS_HEARTBEAT_TIMEOUT PS_RESEND PS_RESEND_TIMEOUT PS_VERBOSE
    """
)

HELPERS = ("scheduler", "server")


def benchmarker_framework() -> FrameworkPlugin:
    """Return the plugin."""
    return FrameworkPlugin(
        name="mxnet",
        distribution="mxnet",
        requirements=("mxnet==1.9.1", "numpy<1.24"),
        cuda_requirements=("mxnet-cu112==1.9.1", "numpy<1.24"),
        implementation="benchmarker.plugins.mxnet.framework:MxnetFramework",
        python=">=3.9,<3.12",
        options=Options,
        devices=("cpu", "cuda"),
        recorded_variables=_RECORDED,
        precisions={"cpu": ("fp32",), "cuda": ("fp32", "fp16")},
        colour=2,
        image_decoder="benchmarker.plugins.mxnet.images:decoder",
        schemes={
            "parameter-server": NativeScheme(
                "kvstore dist_sync over ps-lite, updates on the ranks", helpers=HELPERS
            ),
            "asynchronous-server": NativeScheme(
                "kvstore dist_async over ps-lite, updates on the server",
                optimizers=("sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad"),
                helpers=HELPERS,
                updates_on_server=True,
            ),
        },
        rank_variables="benchmarker.plugins.mxnet.distributed:rank_variables",
        helper="benchmarker.plugins.mxnet.serving:PsLite",
    )
