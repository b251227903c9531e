"""Normalizations."""

from __future__ import annotations

import math
from typing import Any

from benchmarker.plugins.common.axis_orders import graph_order
from benchmarker.plugins.tensorflow.layout_operators import Arranging
from benchmarker.plugins.tensorflow.tensors import Tensor


class Normalizations(Arranging):
    """Batch normalization by TensorFlow's fused kernel; the others, which have none, from its moments."""

    def batch_normalization(
        self,
        x: Tensor,
        scale: Tensor,
        b: Tensor,
        mean: Tensor,
        var: Tensor,
        *,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
    ) -> Tensor:
        value = self.image(x)
        arguments = (mean.value, var.value, self.full(b.value), self.full(scale.value), epsilon)
        if self.training and self.exact == self.tf.float64:
            y = self._double_batch_norm(value, *arguments, momentum)
        elif self.training or self._fuses(value, scale):
            y = self._fused_batch_norm(value, *arguments, momentum)
        else:
            vectors = (self._of_channels(vector, value) for vector in arguments[:-1])
            y = self.tf.nn.batch_normalization(value, *vectors, epsilon)
        return Tensor(y, self.image_order(x.rank))

    def _fuses(self, x: Any, scale: Tensor) -> bool:
        """Return whether TensorFlow will run the fused kernel as part of the convolution before it.

        Alone, in inference, it was slower than a product and a sum; these also fold into the
        convolution where the weights are constants.
        """
        single = self.exact == self.tf.float32
        return single and x.op.type == "Conv2D" and isinstance(scale.value, self.tf.Variable)

    def _fused_batch_norm(
        self, x: Any, mean: Any, var: Any, b: Any, scale: Any, epsilon: float, momentum: float
    ) -> Any:
        y, new_mean, new_var, *_ = self.tf.raw_ops.FusedBatchNormV3(
            x=self._as_image(x),
            scale=scale,
            offset=b,
            mean=self._latest(mean),
            variance=self._latest(var),
            epsilon=epsilon,
            exponential_avg_factor=1.0 - momentum if self.training else 1.0,
            is_training=self.training,
            data_format=self.data_format(4),
        )
        if self.training:
            self.updates.update({mean.ref(): new_mean, var.ref(): new_var})
        return y if len(x.shape) == 4 else self.tf.reshape(y, x.shape)

    def _double_batch_norm(
        self, x: Any, mean: Any, var: Any, b: Any, scale: Any, epsilon: float, momentum: float
    ) -> Any:
        """Do the same from moments: the fused kernel, whose statistics are float32, has no float64."""
        tf = self.tf
        batch_mean, batch_var = tf.nn.moments(x, tuple(range(len(x.shape) - 1)))
        count = math.prod(x.shape[:-1])
        unbiased = batch_var * (count / max(count - 1, 1))
        for statistic, new in ((mean, batch_mean), (var, unbiased)):
            moved = self._latest(statistic) * momentum + new * (1.0 - momentum)
            self.updates[statistic.ref()] = moved
        return tf.nn.batch_normalization(x, batch_mean, batch_var, b, scale, epsilon)

    def _latest(self, statistic: Any) -> Any:
        """Return a running statistic as the layer's uses before this one in the step moved it."""
        return self.updates.get(statistic.ref(), statistic) if self.training else statistic

    def _as_image(self, x: Any) -> Any:
        """Return ``x`` with four axes, which is what the fused kernel takes."""
        if len(x.shape) == 4:
            return x
        first = self._first_spatial
        spatial = x.shape[first : first + len(x.shape) - 2]
        plane = math.prod(spatial[:-1]), math.prod(spatial[-1:])
        batch, channels = x.shape[0], x.shape[self.channels]
        return self.tf.reshape(x, self.image_shape(batch, plane, channels))

    def _of_channels(self, vector: Any, x: Any) -> Any:
        """Return one value per channel so that it broadcasts to the image ``x``."""
        return vector if self._images_last else self.tf.reshape(vector, (-1, *(1,) * (len(x.shape) - 2)))

    def layer_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, axis: int = -1, epsilon: float = 1e-5
    ) -> Tensor:
        """Scale the centred values by the root of their mean square.

        This was faster, forward and backward, than ``tf.nn.moments`` with ``tf.nn.batch_normalization``
        and than the fused kernel of batch normalization, which also rounds more.
        """
        tf, value = self.tf, self.plain(x)
        axes = list(range(axis % x.rank, x.rank))
        exact = self.full(value)
        centred = exact - tf.reduce_mean(exact, axes, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), axes, keepdims=True)
        y = centred * tf.math.rsqrt(variance + epsilon) * self.full(scale.value) + self.full(b.value)
        return Tensor(self._as(y, value.dtype), graph_order(x.rank))

    def group_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5
    ) -> Tensor:
        """Reduce the pixels first, then the channels of a group: channels last, the long pass has them innermost."""
        tf, value = self.tf, self.image(x)
        batch, channels = int(value.shape[0]), int(value.shape[self.channels])
        pixels = self.full(tf.reshape(value, self.image_shape(batch, (-1,), channels)))
        groups = (batch, num_groups, channels // num_groups)

        def mean(values: Any) -> Any:
            of_pixels = tf.reduce_mean(values, self._first_spatial)
            return tf.reduce_mean(tf.reshape(of_pixels, groups), 2, keepdims=True)

        def of_channels(values: Any) -> Any:
            return tf.reshape(tf.broadcast_to(values, groups), self.image_shape(batch, (1,), channels))

        def affine(values: Tensor) -> Any:
            return self._of_channels(self.full(values.value), pixels)

        centred = pixels - of_channels(mean(pixels))
        factor = of_channels(tf.math.rsqrt(mean(tf.square(centred)) + epsilon)) * affine(scale)
        y = self._as(centred * factor + affine(b), value.dtype)
        return Tensor(tf.reshape(y, value.shape), self.image_order(x.rank))
