"""Convolution and its transpose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from benchmarker.graph.windows import Shape, TransposedWindow, Window
from benchmarker.plugins.common.axis_orders import filter_order
from benchmarker.plugins.tensorflow.layout_operators import Arranging
from benchmarker.plugins.tensorflow.tensors import Tensor

_Window = TypeVar("_Window", Window, TransposedWindow)


def _on_plane(window: _Window) -> _Window:
    """Return the window of a line on a plane one pixel high."""
    return replace(window, strides=(1, *window.strides), dilations=(1, *window.dilations))


class Convolutions(Arranging):
    """Convolution and its transpose."""

    def conv(self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: Window) -> Tensor:
        value, kernel = self.image(x), self.arrange(w, filter_order(w.rank))
        padding = "SAME" if window.is_same(x.shape, w.shape) else "VALID"
        if padding == "VALID" and window.is_padded:
            # Explicit pads of the convolution itself would leave the oneDNN kernels.
            value = self.tf.pad(value, self.across(window.pairs, (0, 0)))
        y = self._convolve(value, kernel, window, padding)
        return self._shifted(y, b)

    def _shifted(self, y: Any, b: Tensor | None) -> Tensor:
        if b is not None:
            y = self.biased(y, self.plain(b), "NHWC" if self._images_last else "NCHW")
        return Tensor(y, self.image_order(len(y.shape)))

    def _convolve(self, x: Any, kernel: Any, window: Window, padding: str) -> Any:
        """Convolve what is padded already, or by name."""
        tf = self.tf
        if window.rank == 1:
            x, kernel = tf.expand_dims(x, self._first_spatial), tf.expand_dims(kernel, 0)
            return tf.squeeze(self._convolve(x, kernel, _on_plane(window), padding), self._first_spatial)
        if window.rank == 3:
            return self._convolve_volume(x, kernel, window, padding)
        if x.dtype == tf.float64:
            return self._convolve_double(x, self._dilated(kernel, window.dilations), window, padding)
        return tf.nn.conv2d(x, kernel, window.strides, padding, self.data_format(4), window.dilations)

    def _convolve_double(self, x: Any, kernel: Any, window: Window, padding: str) -> Any:
        """Do the same in float64, channels last, where no gradient of TensorFlow's knows groups or dilations."""
        tf = self.tf
        strides, group = window.strides, window.group
        height, width, channels, filters = (int(size) for size in kernel.shape)
        if group > 1 and channels == 1 and len(set(strides)) == 1:
            kernel = tf.reshape(kernel, (height, width, group, filters // group))
            return tf.nn.depthwise_conv2d(x, kernel, (1, *strides, 1), padding)
        parts = zip(tf.split(x, group, axis=-1), tf.split(kernel, group, axis=-1))
        results = [tf.nn.conv2d(p, k, strides, padding) for p, k in parts]
        return results[0] if group == 1 else tf.concat(results, axis=-1)

    def _convolve_volume(self, x: Any, kernel: Any, window: Window, padding: str) -> Any:
        """Convolve over three axes; TensorFlow has neither groups nor, with strides, dilations here."""
        tf = self.tf
        if window.group > 1:
            group, single = window.group, replace(window, group=1)
            parts = zip(tf.split(x, group, axis=self.channels), tf.split(kernel, group, axis=-1))
            each = [self._convolve_volume(p, k, single, padding) for p, k in parts]
            return tf.concat(each, axis=self.channels)
        strides, dilations, data_format = window.strides, window.dilations, self.data_format(5)
        if max(dilations) == 1:
            return tf.nn.conv3d(x, kernel, self.across(strides, 1), padding, data_format)
        y = tf.nn.convolution(x, kernel, 1, padding, data_format=data_format, dilations=dilations)
        return y[self.across([slice(None, None, stride) for stride in strides], slice(None))]

    # --- transposed --------------------------------------------------------------------------

    def conv_transpose(
        self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: TransposedWindow
    ) -> Tensor:
        value, kernel = self.image(x), self.arrange(w, filter_order(w.rank))
        if window.is_same(x.shape, w.shape):
            sizes = window.output_sizes(x.shape, w.shape)
            return self._shifted(self._transposed(value, kernel, sizes, window, "SAME"), b)
        whole = window.whole_sizes(x.shape, w.shape)
        y = self._transposed(value, kernel, whole, window, "VALID")
        if window.is_padded:
            inside = [slice(begin, size - end) for size, (begin, end) in zip(whole, window.pairs)]
            y = y[self.across(inside, slice(None))]
        return self._shifted(y, b)

    def _transposed(self, x: Any, kernel: Any, sizes: Shape, window: TransposedWindow, padding: str) -> Any:
        """Return the gradient of a convolution for its input of ``sizes``: the transposed convolution.

        That of two axes knows groups and dilations, which ``tf.nn.conv2d_transpose`` does not pass on.
        """
        tf = self.tf
        if window.rank == 1:
            x, kernel = tf.expand_dims(x, self._first_spatial), tf.expand_dims(kernel, 0)
            y = self._transposed(x, kernel, (1, *sizes), _on_plane(window), padding)
            return tf.squeeze(y, self._first_spatial)
        if window.rank == 3 or x.dtype == tf.float64:
            return self._transposed_in_groups(x, kernel, sizes, window, padding)
        channels = int(kernel.shape[-2]) * window.group
        return tf.raw_ops.Conv2DBackpropInput(
            input_sizes=self.image_shape(int(x.shape[0]), sizes, channels),
            filter=kernel,
            out_backprop=x,
            strides=self.across(window.strides, 1),
            padding=padding,
            data_format=self.data_format(4),
            dilations=self.across(window.dilations, 1),
        )

    def _transposed_in_groups(
        self, x: Any, kernel: Any, sizes: Shape, window: TransposedWindow, padding: str
    ) -> Any:
        """Do the same over three axes or in float64, where TensorFlow has neither groups nor dilations."""
        tf = self.tf
        group = window.group
        kernel = self._dilated(kernel, window.dilations)
        parts = zip(tf.split(x, group, axis=self.channels), tf.split(kernel, group, axis=-1))
        shape = self.image_shape(int(x.shape[0]), sizes, int(kernel.shape[-2]))
        spread = tf.nn.conv2d_transpose if window.rank == 2 else tf.nn.conv3d_transpose
        data_format = self.data_format(2 + window.rank)
        results = [spread(p, k, shape, window.strides, padding, data_format) for p, k in parts]
        return results[0] if group == 1 else tf.concat(results, axis=self.channels)

    def _dilated(self, kernel: Any, dilations: Shape) -> Any:
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
