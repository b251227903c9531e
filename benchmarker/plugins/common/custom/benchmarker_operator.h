/* What the functions of a user's own operator take; see CppSource in benchmarker/graph/custom.py.
 *
 * int forward(const benchmarker_tensor *inputs, const benchmarker_tensor *outputs);
 * int backward(const benchmarker_tensor *inputs, const benchmarker_tensor *outputs,
 *              const benchmarker_tensor *output_gradients, const benchmarker_tensor *input_gradients);
 *
 * Each argument points to the first of as many tensors as the operator has. They are contiguous, rows last, and
 * belong to the caller; those that are written hold nothing yet. The gradient of an input that needs none has
 * data NULL. Return 0, or any other number to say that something is wrong. In CUDA the memory is the GPU's;
 * work on the default stream.
 */
#ifndef BENCHMARKER_OPERATOR_H
#define BENCHMARKER_OPERATOR_H

#include <stddef.h>
#include <stdint.h>

enum { BENCHMARKER_FLOAT32 = 0, BENCHMARKER_FLOAT64 = 1, BENCHMARKER_INT64 = 2 };

typedef struct {
    void *data;
    const int64_t *shape;
    int32_t rank;
    int32_t type;
} benchmarker_tensor;

static inline int64_t benchmarker_elements(const benchmarker_tensor *tensor) {
    int64_t elements = 1;
    for (int32_t axis = 0; axis < tensor->rank; ++axis) elements *= tensor->shape[axis];
    return elements;
}

#endif
