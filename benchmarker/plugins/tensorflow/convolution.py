"""Convolutions and resizing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarker.plugins.tensorflow.arranging import Arranging
from benchmarker.plugins.tensorflow.tensors import Tensor, channels_last, filter_order
from benchmarker.windows import Pairs, explicit_pairs, linear_interpolation, same_pairs


class Convolutions(Arranging):
    """Convolution, its transpose, and resizing."""

    def conv(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Tensor:
        value, kernel = self.image(x), self.arrange(w, filter_order(w.rank))
        pairs = explicit_pairs(pads)
        padding = "VALID"
        if any(pads) and pairs == same_pairs(x.shape[2:], w.shape[2:], strides, dilations):
            padding = "SAME"
        else:
            # Explicit pads of the convolution itself would leave the oneDNN kernels.
            value = self._surrounded(value, pairs)
        y = self._convolve(value, kernel, strides, padding, dilations, group)
        return self._shifted(y, b)

    def _shifted(self, y: Any, b: Tensor | None) -> Tensor:
        if b is not None:
            y = self.tf.nn.bias_add(y, self.plain(b), "NHWC" if self._images_last else "NCHW")
        return Tensor(y, self.image_order(len(y.shape)))

    def _surrounded(self, x: Any, pairs: Pairs) -> Any:
        return self.tf.pad(x, self.across(pairs, (0, 0))) if any(map(any, pairs)) else x

    def _convolve(
        self,
        x: Any,
        kernel: Any,
        strides: tuple[int, ...],
        padding: str,
        dilations: tuple[int, ...],
        group: int,
    ) -> Any:
        tf = self.tf
        if len(strides) == 1:
            x, kernel = tf.expand_dims(x, self._first_spatial), tf.expand_dims(kernel, 0)
            ones = (1, *strides), padding, (1, *dilations), group
            return tf.squeeze(self._convolve(x, kernel, *ones), self._first_spatial)
        if len(strides) == 2 and x.dtype == tf.float64:
            return self._convolve_double(x, self._dilated(kernel, dilations), strides, padding, group)
        if len(strides) == 2:
            return tf.nn.conv2d(x, kernel, strides, padding, self.data_format(4), dilations)
        return self._convolve_volume(x, kernel, strides, padding, dilations, group)

    def _convolve_double(
        self, x: Any, kernel: Any, strides: tuple[int, ...], padding: str, group: int
    ) -> Any:
        """Do the same in float64, channels last, where no gradient of TensorFlow's knows groups or dilations."""
        tf = self.tf
        height, width, channels, filters = (int(size) for size in kernel.shape)
        if group > 1 and channels == 1 and len(set(strides)) == 1:
            kernel = tf.reshape(kernel, (height, width, group, filters // group))
            return tf.nn.depthwise_conv2d(x, kernel, (1, *strides, 1), padding)
        parts = zip(tf.split(x, group, axis=-1), tf.split(kernel, group, axis=-1))
        results = [tf.nn.conv2d(p, k, strides, padding) for p, k in parts]
        return results[0] if group == 1 else tf.concat(results, axis=-1)

    def _convolve_volume(
        self,
        x: Any,
        kernel: Any,
        strides: tuple[int, ...],
        padding: str,
        dilations: tuple[int, ...],
        group: int,
    ) -> Any:
        """Convolve over three axes; TensorFlow has neither groups nor, with strides, dilations here."""
        tf = self.tf
        if group > 1:
            parts = zip(tf.split(x, group, axis=self.channels), tf.split(kernel, group, axis=-1))
            each = [self._convolve_volume(p, k, strides, padding, dilations, 1) for p, k in parts]
            return tf.concat(each, axis=self.channels)
        if max(dilations) == 1:
            return tf.nn.conv3d(x, kernel, self.across(strides, 1), padding, self.data_format(5))
        y = tf.nn.convolution(x, kernel, 1, padding, data_format=self.data_format(5), dilations=dilations)
        return y[self.across([slice(None, None, stride) for stride in strides], slice(None))]

    # --- transposed --------------------------------------------------------------------------

    def conv_transpose(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        output_padding: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Tensor:
        value, kernel = self.image(x), self.arrange(w, filter_order(w.rank))
        sizes, pairs = x.shape[2:], explicit_pairs(pads)
        whole = [
            stride * (size - 1) + extra + (k - 1) * dilation + 1
            for stride, size, extra, k, dilation in zip(
                strides, sizes, output_padding, w.shape[2:], dilations
            )
        ]
        cut = [size - sum(pair) for size, pair in zip(whole, pairs)]
        fits = [-(-size // stride) for size, stride in zip(cut, strides)] == list(sizes)
        if any(pads) and fits and pairs == same_pairs(cut, w.shape[2:], strides, dilations):
            return self._shifted(self._spread(value, kernel, cut, strides, "SAME", dilations, group), b)
        y = self._spread(value, kernel, whole, strides, "VALID", dilations, group)
        if any(pads):
            inside = [slice(begin, size - end) for size, (begin, end) in zip(whole, pairs)]
            y = y[self.across(inside, slice(None))]
        return self._shifted(y, b)

    def _spread(
        self,
        x: Any,
        kernel: Any,
        sizes: Sequence[int],
        strides: tuple[int, ...],
        padding: str,
        dilations: tuple[int, ...],
        group: int,
    ) -> Any:
        """Return the gradient of a convolution for its input of ``sizes``: the transposed convolution.

        That of two axes knows groups and dilations, which ``tf.nn.conv2d_transpose`` does not pass on.
        """
        tf = self.tf
        if len(strides) == 1:
            x, kernel = tf.expand_dims(x, self._first_spatial), tf.expand_dims(kernel, 0)
            ones = (1, *sizes), (1, *strides), padding, (1, *dilations), group
            return tf.squeeze(self._spread(x, kernel, *ones), self._first_spatial)
        if len(strides) == 3 or x.dtype == tf.float64:
            return self._spread_apart(x, kernel, sizes, strides, padding, dilations, group)
        channels = int(kernel.shape[-2]) * group
        return tf.raw_ops.Conv2DBackpropInput(
            input_sizes=self.image_shape(int(x.shape[0]), sizes, channels),
            filter=kernel,
            out_backprop=x,
            strides=self.across(strides, 1),
            padding=padding,
            data_format=self.data_format(4),
            dilations=self.across(dilations, 1),
        )

    def _spread_apart(
        self,
        x: Any,
        kernel: Any,
        sizes: Sequence[int],
        strides: tuple[int, ...],
        padding: str,
        dilations: tuple[int, ...],
        group: int,
    ) -> Any:
        """Do the same over three axes or in float64, where TensorFlow has neither groups nor dilations."""
        tf = self.tf
        kernel = self._dilated(kernel, dilations)
        parts = zip(tf.split(x, group, axis=self.channels), tf.split(kernel, group, axis=-1))
        shape = self.image_shape(int(x.shape[0]), sizes, int(kernel.shape[-2]))
        spread = tf.nn.conv2d_transpose if len(strides) == 2 else tf.nn.conv3d_transpose
        data_format = self.data_format(2 + len(strides))
        results = [spread(p, k, shape, strides, padding, data_format) for p, k in parts]
        return results[0] if group == 1 else tf.concat(results, axis=self.channels)

    def _dilated(self, kernel: Any, dilations: Sequence[int]) -> Any:
        """Return ``kernel`` with zeros between its elements."""
        tf = self.tf
        for axis, dilation in enumerate(dilations):
            if dilation == 1:
                continue
            shape = [int(size) for size in kernel.shape]
            apart = tf.expand_dims(kernel, axis + 1)
            pads = [(0, dilation - 1) if i == axis + 1 else (0, 0) for i in range(len(shape) + 1)]
            shape[axis] *= dilation
            kernel = tf.reshape(tf.pad(apart, pads), shape)
            shape[axis] -= dilation - 1
            kernel = tf.slice(kernel, [0] * len(shape), shape)
        return kernel

    # --- resizing ----------------------------------------------------------------------------

    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        value = self.last(x)  # TensorFlow has no kernel for another layout
        if mode != "nearest" and value.dtype == self.tf.float64:
            y = self._interpolated(value, sizes)
        elif mode != "nearest":
            y = self.tf.raw_ops.ResizeBilinear(images=value, size=sizes, half_pixel_centers=True)
        elif self._xla:
            y = self._repeated(value, sizes)  # XLA lacks the gradient of the kernel
        else:
            # tf.image.resize means another nearest neighbour: that of half pixels.
            y = self.tf.raw_ops.ResizeNearestNeighbor(images=value, size=sizes)
        return Tensor(self._as(y, value.dtype), channels_last(x.rank))

    def _interpolated(self, x: Any, sizes: tuple[int, ...]) -> Any:
        """Interpolate by two products, as the kernel's result is float32 always."""
        rows, columns = (
            self.tf.constant(linear_interpolation(int(old), new)) for old, new in zip(x.shape[1:3], sizes)
        )
        return self.tf.einsum("ih,jw,nhwc->nijc", rows, columns, x)

    def _repeated(self, x: Any, sizes: tuple[int, ...]) -> Any:
        batch, height, width, channels = (int(size) for size in x.shape)
        apart = self.tf.reshape(x, (batch, height, 1, width, 1, channels))
        shape = (batch, height, sizes[0] // height, width, sizes[1] // width, channels)
        return self.tf.reshape(self.tf.broadcast_to(apart, shape), (batch, *sizes, channels))
