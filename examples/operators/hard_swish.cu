// Hard swish in CUDA: x clip(x / 6 + 1 / 2, 0, 1), and its derivative. The tensors are in the GPU's memory.
#include <benchmarker_operator.h>

namespace {

constexpr int THREADS = 256;

template <typename T>
__global__ void forward(const T *x, T *y, int64_t elements) {
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i >= elements) return;
    const T gate = x[i] / T(6) + T(0.5);
    y[i] = x[i] * (gate < T(0) ? T(0) : gate > T(1) ? T(1) : gate);
}

template <typename T>
__global__ void backward(const T *x, const T *dy, T *dx, int64_t elements) {
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i >= elements) return;
    dx[i] = dy[i] * (x[i] <= T(-3) ? T(0) : x[i] >= T(3) ? T(1) : x[i] / T(3) + T(0.5));
}

template <typename T>
int launch_forward(const benchmarker_tensor &x, const benchmarker_tensor &y) {
    const int64_t elements = benchmarker_elements(&x);
    if (elements == 0) return 0;
    const unsigned blocks = unsigned((elements + THREADS - 1) / THREADS);
    forward<<<blocks, THREADS>>>(static_cast<const T *>(x.data), static_cast<T *>(y.data), elements);
    return cudaGetLastError();
}

template <typename T>
int launch_backward(const benchmarker_tensor &x, const benchmarker_tensor &dy, const benchmarker_tensor &dx) {
    const int64_t elements = benchmarker_elements(&x);
    if (elements == 0) return 0;
    const unsigned blocks = unsigned((elements + THREADS - 1) / THREADS);
    backward<<<blocks, THREADS>>>(static_cast<const T *>(x.data), static_cast<const T *>(dy.data),
                                  static_cast<T *>(dx.data), elements);
    return cudaGetLastError();
}

}  // namespace

extern "C" int hard_swish_forward(const benchmarker_tensor *inputs, const benchmarker_tensor *outputs) {
    switch (inputs[0].type) {
        case BENCHMARKER_FLOAT32: return launch_forward<float>(inputs[0], outputs[0]);
        case BENCHMARKER_FLOAT64: return launch_forward<double>(inputs[0], outputs[0]);
        default: return 1;
    }
}

extern "C" int hard_swish_backward(const benchmarker_tensor *inputs, const benchmarker_tensor *,
                                   const benchmarker_tensor *output_gradients,
                                   const benchmarker_tensor *input_gradients) {
    if (input_gradients[0].data == nullptr) return 0;
    switch (inputs[0].type) {
        case BENCHMARKER_FLOAT32:
            return launch_backward<float>(inputs[0], output_gradients[0], input_gradients[0]);
        case BENCHMARKER_FLOAT64:
            return launch_backward<double>(inputs[0], output_gradients[0], input_gradients[0]);
        default: return 1;
    }
}
