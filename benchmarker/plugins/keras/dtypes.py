"""In which type Keras computes, which holds for the whole process."""

from __future__ import annotations

from benchmarker.errors import UnsupportedError

FLOATS = {"fp32": "float32", "tf32": "float32", "fp64": "float64"}
"""What Keras' ``set_floatx`` takes for each precision."""


def set_floats(dtype: str) -> None:
    """Have Keras compute in ``dtype`` where nothing else tells it.

    Raises
    ------
    UnsupportedError
        If this version of Keras would round float64.
    """
    import keras

    keras.config.set_floatx(dtype)
    if dtype != "float64":
        return
    _keep_float64()
    if keras.backend.result_type("float64", "float64") != "float64":
        raise UnsupportedError(
            f"Keras {keras.__version__} rounds float64 to float32 over {keras.backend.backend()}; "
            "use precision fp32"
        )


def _keep_float64() -> None:
    """Have ``matmul``, ``mean`` and others compute in the type of their operands over PyTorch and JAX too.

    After every promotion of types Keras makes float32 of float64 there, as JAX does until it is asked for
    64 bits, but whatever was asked for.
    """
    try:
        from keras.src.backend.common.dtypes import BIT64_TO_BIT32_DTYPE
    except ImportError:
        return
    BIT64_TO_BIT32_DTYPE["float64"] = "float64"
