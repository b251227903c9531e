// Hard swish in C++: x clip(x / 6 + 1 / 2, 0, 1), and its derivative.
#include <benchmarker_operator.h>

namespace {

template <typename T>
void forward(const benchmarker_tensor &input, const benchmarker_tensor &output) {
    const T *x = static_cast<const T *>(input.data);
    T *y = static_cast<T *>(output.data);
    const int64_t elements = benchmarker_elements(&input);
    for (int64_t i = 0; i < elements; ++i) {
        const T gate = x[i] / T(6) + T(0.5);
        y[i] = x[i] * (gate < T(0) ? T(0) : gate > T(1) ? T(1) : gate);
    }
}

template <typename T>
void backward(const benchmarker_tensor &input, const benchmarker_tensor &upstream, const benchmarker_tensor &result) {
    const T *x = static_cast<const T *>(input.data);
    const T *dy = static_cast<const T *>(upstream.data);
    T *dx = static_cast<T *>(result.data);
    const int64_t elements = benchmarker_elements(&input);
    for (int64_t i = 0; i < elements; ++i) {
        const T slope = x[i] <= T(-3) ? T(0) : x[i] >= T(3) ? T(1) : x[i] / T(3) + T(0.5);
        dx[i] = dy[i] * slope;
    }
}

}  // namespace

extern "C" int hard_swish_forward(const benchmarker_tensor *inputs, const benchmarker_tensor *outputs) {
    switch (inputs[0].type) {
        case BENCHMARKER_FLOAT32: forward<float>(inputs[0], outputs[0]); return 0;
        case BENCHMARKER_FLOAT64: forward<double>(inputs[0], outputs[0]); return 0;
        default: return 1;
    }
}

extern "C" int hard_swish_backward(const benchmarker_tensor *inputs, const benchmarker_tensor *,
                                   const benchmarker_tensor *output_gradients,
                                   const benchmarker_tensor *input_gradients) {
    if (input_gradients[0].data == nullptr) return 0;
    switch (inputs[0].type) {
        case BENCHMARKER_FLOAT32: backward<float>(inputs[0], output_gradients[0], input_gradients[0]); return 0;
        case BENCHMARKER_FLOAT64: backward<double>(inputs[0], output_gradients[0], input_gradients[0]); return 0;
        default: return 1;
    }
}
