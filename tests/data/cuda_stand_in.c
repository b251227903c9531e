/* A stand-in for CUDA's runtime, cuBLAS and cuDNN on a processor: the functions that the plug-in cudnn calls, with the
 * signatures of the headers and the layouts and gate orders of the documentation, one element at a time in double.
 *
 * It shows that arguments, layouts and the places of weights are right, and nothing of speed or of what a device refuses.
 */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void *Any;
enum { FLOAT = 0, DOUBLE = 1, HALF = 2, BFLOAT16 = 9 };
enum { OK = 0, CUDA_OUT_OF_MEMORY = 2, BAD_PARAM = 2000, NOT_SUPPORTED = 3000 };
#define MOST_AXES 8
#define MEMORY_BYTES ((size_t)1 << 33)

/* --- elements --- */

static size_t width(int type) { return type == DOUBLE ? 8 : type == FLOAT ? 4 : 2; }

static double get(const void *base, int type, int64_t at) {
    if (type == DOUBLE) return ((const double *)base)[at];
    if (type == FLOAT) return ((const float *)base)[at];
    if (type == HALF) return (double)((const _Float16 *)base)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)base)[at] << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static void put(void *base, int type, int64_t at, double value) {
    if (type == DOUBLE) { ((double *)base)[at] = value; return; }
    if (type == FLOAT) { ((float *)base)[at] = (float)value; return; }
    if (type == HALF) { ((_Float16 *)base)[at] = (_Float16)value; return; }
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, 4);
    ((uint16_t *)base)[at] = (uint16_t)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

static double factor(const void *at, int type) {
    return type == DOUBLE ? *(const double *)at : *(const float *)at;
}

/* --- CUDA's runtime --- */

static double clock_of_events;

const char *cudaGetErrorString(int status) { return status == CUDA_OUT_OF_MEMORY ? "out of memory" : "failed"; }
int cudaGetDeviceCount(int *count) { *count = 1; return OK; }
int cudaSetDevice(int device) { return device == 0 ? OK : 101; }
int cudaGetDeviceProperties(char *properties, int device) { (void)device; strcpy(properties, "stand-in"); return OK; }
int cudaRuntimeGetVersion(int *version) { *version = 13000; return OK; }
int cudaMalloc(void **pointer, size_t size) {
    if (size > MEMORY_BYTES) return CUDA_OUT_OF_MEMORY;
    *pointer = malloc(size);
    return OK;
}
int cudaFree(void *pointer) { free(pointer); return OK; }
int cudaMemset(void *pointer, int value, size_t size) { memset(pointer, value, size); return OK; }
int cudaMemcpy(void *to, const void *from, size_t size, int kind) {
    if (kind != 1 && kind != 2) return 21;
    memcpy(to, from, size);
    return OK;
}
int cudaMemGetInfo(size_t *left, size_t *total) { *left = *total = MEMORY_BYTES; return OK; }
int cudaStreamSynchronize(Any stream) { return stream ? 400 : OK; }
int cudaEventCreate(double **event) { *event = calloc(1, sizeof(double)); return OK; }
int cudaEventDestroy(double *event) { free(event); return OK; }
int cudaEventRecord(double *event, Any stream) { *event = ++clock_of_events; return stream ? 400 : OK; }
int cudaEventElapsedTime(float *milliseconds, double *first, double *last) {
    *milliseconds = (float)(*last - *first);
    return OK;
}

/* --- cuBLAS: columns one after the other --- */

static int element_of(int cuda_type) {
    return cuda_type == 0 ? FLOAT : cuda_type == 1 ? DOUBLE : cuda_type == 2 ? HALF : cuda_type == 14 ? BFLOAT16 : -1;
}

int cublasCreate_v2(Any *handle) { *handle = malloc(1); return OK; }
int cublasDestroy_v2(Any handle) { free(handle); return OK; }
int cublasGetProperty(int which, int *value) { *value = which == 0 ? 13 : which; return OK; }
int cublasSetWorkspace_v2(Any handle, Any workspace, size_t size) { return handle && workspace && size ? OK : 7; }

int cublasGemmStridedBatchedEx(Any handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha, const void *a,
                               int a_type, int lda, long long a_stride, const void *b, int b_type, int ldb,
                               long long b_stride, const void *beta, void *c, int c_type, int ldc, long long c_stride,
                               int count, int compute, int algorithm) {
    int type = element_of(a_type);
    int wanted = type == DOUBLE ? 70 : 68;
    if (!handle || type < 0 || a_type != b_type || a_type != c_type || algorithm != -1) return 7;
    if (compute != wanted && !(type == FLOAT && compute == 77)) return 15;
    if (lda < (trans_a ? k : m) || ldb < (trans_b ? n : k) || ldc < m) return 7;
    int scale = type == DOUBLE ? DOUBLE : FLOAT;
    for (int one = 0; one < count; one++)
        for (int column = 0; column < n; column++)
            for (int row = 0; row < m; row++) {
                double sum = 0;
                for (int i = 0; i < k; i++) {
                    int64_t in_a = trans_a ? (int64_t)row * lda + i : (int64_t)i * lda + row;
                    int64_t in_b = trans_b ? (int64_t)i * ldb + column : (int64_t)column * ldb + i;
                    sum += get(a, type, one * a_stride + in_a) * get(b, type, one * b_stride + in_b);
                }
                int64_t at = one * c_stride + (int64_t)column * ldc + row;
                double before = factor(beta, scale);
                if (before != 0) before *= get(c, type, at);
                put(c, type, at, factor(alpha, scale) * sum + before);
            }
    return OK;
}

/* --- cuDNN: descriptors --- */

typedef struct { int type, rank, sizes[MOST_AXES]; int64_t strides[MOST_AXES]; } Tensor;
typedef struct { int type, order, rank, sizes[MOST_AXES]; } Filter;
typedef struct { int rank, pads[MOST_AXES], strides[MOST_AXES], dilations[MOST_AXES], compute, math, groups; } Convolution;
typedef struct { int mode; } Activation;
typedef struct { float ratio; } Dropout;
typedef struct { int type, steps, batch, features; } Sequence;
typedef struct { int mode, directions, type, features, hidden; } Cells;
typedef struct { int algorithm, status; float milliseconds; size_t workspace; int determinism, math, reserved[3]; } Candidate;

#define DESCRIPTOR(name, type)                                                              \
    int cudnnCreate##name##Descriptor(Any *made) { *made = calloc(1, sizeof(type)); return OK; } \
    int cudnnDestroy##name##Descriptor(Any made) { free(made); return OK; }
DESCRIPTOR(Tensor, Tensor)
DESCRIPTOR(Filter, Filter)
DESCRIPTOR(Convolution, Convolution)
DESCRIPTOR(Activation, Activation)
DESCRIPTOR(Dropout, Dropout)
DESCRIPTOR(RNNData, Sequence)
DESCRIPTOR(RNN, Cells)

size_t cudnnGetVersion(void) { return 91900; }
int cudnnCreate(Any *handle) { *handle = malloc(1); return OK; }
int cudnnDestroy(Any handle) { free(handle); return OK; }

static int copied(int *to, const int *from, int count) {
    if (count > MOST_AXES) return BAD_PARAM;
    memcpy(to, from, count * sizeof(int));
    return OK;
}

int cudnnSetTensorNdDescriptor(Tensor *made, int type, int rank, const int *sizes, const int *strides) {
    if (rank < 3) return BAD_PARAM;
    made->type = type;
    made->rank = rank;
    for (int axis = 0; axis < rank; axis++) {
        if (sizes[axis] < 1 || strides[axis] < 1) return BAD_PARAM;
        made->strides[axis] = strides[axis];
    }
    return copied(made->sizes, sizes, rank);
}
int cudnnSetFilterNdDescriptor(Filter *made, int type, int order, int rank, const int *sizes) {
    made->type = type;
    made->order = order;
    made->rank = rank;
    return copied(made->sizes, sizes, rank);
}
int cudnnSetConvolutionNdDescriptor(Convolution *made, int rank, const int *pads, const int *strides, const int *dilations,
                                    int mode, int compute) {
    if (rank < 2 || mode != 1) return BAD_PARAM;
    made->rank = rank;
    made->compute = compute;
    made->groups = 1;
    copied(made->pads, pads, rank);
    copied(made->strides, strides, rank);
    return copied(made->dilations, dilations, rank);
}
int cudnnSetConvolutionMathType(Convolution *made, int math) { made->math = math; return OK; }
int cudnnSetConvolutionGroupCount(Convolution *made, int groups) { made->groups = groups; return OK; }
int cudnnSetActivationDescriptor(Activation *made, int mode, int nan, double coefficient) {
    made->mode = mode;
    return nan == 1 && coefficient == 0 ? OK : BAD_PARAM;
}
int cudnnSetDropoutDescriptor(Dropout *made, Any handle, float ratio, Any states, size_t size, unsigned long long seed) {
    made->ratio = ratio;
    return handle && ratio == 0 && !states && !size && !seed ? OK : BAD_PARAM;
}

/* --- cuDNN: elements of tensors --- */

static int64_t count(const Tensor *t) {
    int64_t found = 1;
    for (int axis = 0; axis < t->rank; axis++) found *= t->sizes[axis];
    return found;
}

/* Take apart the number of an element in C order. */
static void place(const int *sizes, int rank, int64_t number, int *at) {
    for (int axis = rank - 1; axis >= 0; axis--) {
        at[axis] = (int)(number % sizes[axis]);
        number /= sizes[axis];
    }
}

/* Where the element is; axes of size 1 are broadcast. */
static int64_t offset(const Tensor *t, const int *at) {
    int64_t found = 0;
    for (int axis = 0; axis < t->rank; axis++) found += (t->sizes[axis] == 1 ? 0 : at[axis]) * t->strides[axis];
    return found;
}

static int scale_of(const Tensor *t) { return t->type == DOUBLE ? DOUBLE : FLOAT; }

static int same_sizes(const Tensor *a, const Tensor *b) {
    return a->rank == b->rank && !memcmp(a->sizes, b->sizes, a->rank * sizeof(int));
}

int cudnnAddTensor(Any handle, const void *alpha, const Tensor *a_of, const void *a, const void *beta, const Tensor *c_of,
                   void *c) {
    if (!handle || a_of->rank != c_of->rank || a_of->type != c_of->type) return BAD_PARAM;
    for (int axis = 0; axis < c_of->rank; axis++)
        if (a_of->sizes[axis] != 1 && a_of->sizes[axis] != c_of->sizes[axis]) return BAD_PARAM;
    int at[MOST_AXES], type = c_of->type;
    for (int64_t i = 0; i < count(c_of); i++) {
        place(c_of->sizes, c_of->rank, i, at);
        double sum = factor(alpha, scale_of(a_of)) * get(a, type, offset(a_of, at));
        put(c, type, offset(c_of, at), sum + factor(beta, scale_of(c_of)) * get(c, type, offset(c_of, at)));
    }
    return OK;
}

int cudnnTransformTensor(Any handle, const void *alpha, const Tensor *x_of, const void *x, const void *beta,
                         const Tensor *y_of, void *y) {
    if (!handle || !same_sizes(x_of, y_of) || factor(beta, scale_of(y_of)) != 0) return BAD_PARAM;
    int at[MOST_AXES];
    for (int64_t i = 0; i < count(x_of); i++) {
        place(x_of->sizes, x_of->rank, i, at);
        put(y, y_of->type, offset(y_of, at), factor(alpha, scale_of(x_of)) * get(x, x_of->type, offset(x_of, at)));
    }
    return OK;
}

int cudnnActivationForward(Any handle, const Activation *activation, const void *alpha, const Tensor *x_of, const void *x,
                           const void *beta, const Tensor *y_of, void *y) {
    if (!handle || !same_sizes(x_of, y_of) || factor(alpha, scale_of(x_of)) != 1 || factor(beta, scale_of(x_of)) != 0)
        return BAD_PARAM;
    int at[MOST_AXES];
    for (int64_t i = 0; i < count(x_of); i++) {
        place(x_of->sizes, x_of->rank, i, at);
        double v = get(x, x_of->type, offset(x_of, at));
        double found = activation->mode == 0 ? 1 / (1 + exp(-v)) : activation->mode == 1 ? (v > 0 ? v : 0) : tanh(v);
        put(y, y_of->type, offset(y_of, at), found);
    }
    return OK;
}

/* --- cuDNN: convolution --- */

#define WORKSPACE 64

static int64_t filter_offset(const Filter *w, const int *at) {
    int64_t found = at[0];
    if (w->order == 0) {
        for (int axis = 1; axis < w->rank; axis++) found = found * w->sizes[axis] + at[axis];
        return found;
    }
    for (int axis = 2; axis < w->rank; axis++) found = found * w->sizes[axis] + at[axis];
    return found * w->sizes[1] + at[1];
}

static int fits(const Tensor *x, const Filter *w, const Convolution *c, const Tensor *y) {
    if (x->rank != c->rank + 2 || w->rank != x->rank || y->rank != x->rank || x->type != w->type || x->type != y->type) return 0;
    if (c->compute != scale_of(x)) return 0;
    if (x->sizes[1] != w->sizes[1] * c->groups || y->sizes[1] != w->sizes[0] || y->sizes[0] != x->sizes[0]) return 0;
    for (int axis = 0; axis < c->rank; axis++) {
        int room = x->sizes[axis + 2] + 2 * c->pads[axis] - ((w->sizes[axis + 2] - 1) * c->dilations[axis] + 1);
        if (y->sizes[axis + 2] != room / c->strides[axis] + 1) return 0;
    }
    return 1;
}

/* The second algorithm is the best here; the first is listed before it, and refused. */
static int candidates(const Convolution *c, int asked, int *returned, Candidate *found) {
    if (asked < 2) return BAD_PARAM;
    found[0] = (Candidate){.algorithm = 5, .status = NOT_SUPPORTED, .milliseconds = -1};
    found[1] = (Candidate){.algorithm = 1, .milliseconds = 1, .workspace = WORKSPACE, .math = c->math};
    *returned = 2;
    return OK;
}

int cudnnGetConvolutionForwardAlgorithm_v7(Any handle, const Tensor *x, const Filter *w, const Convolution *c,
                                           const Tensor *y, int asked, int *returned, Candidate *found) {
    return handle && fits(x, w, c, y) ? candidates(c, asked, returned, found) : BAD_PARAM;
}

int cudnnFindConvolutionForwardAlgorithmEx(Any handle, const Tensor *x_of, const void *x, const Filter *w_of, const void *w,
                                           const Convolution *c, const Tensor *y_of, void *y, int asked, int *returned,
                                           Candidate *found, void *workspace, size_t size) {
    if (!handle || !x || !w || !y || !workspace || size < WORKSPACE || !fits(x_of, w_of, c, y_of)) return BAD_PARAM;
    return candidates(c, asked, returned, found);
}

int cudnnGetConvolutionForwardWorkspaceSize(Any handle, const Tensor *x, const Filter *w, const Convolution *c,
                                            const Tensor *y, int algorithm, size_t *size) {
    if (!handle || !fits(x, w, c, y)) return BAD_PARAM;
    *size = algorithm == 1 ? WORKSPACE : 0;
    return algorithm == 5 ? NOT_SUPPORTED : OK;
}

int cudnnConvolutionForward(Any handle, const void *alpha, const Tensor *x_of, const void *x, const Filter *w_of,
                            const void *w, const Convolution *c, int algorithm, void *workspace, size_t size,
                            const void *beta, const Tensor *y_of, void *y) {
    if (!handle || algorithm != 1 || !workspace || size != WORKSPACE || !fits(x_of, w_of, c, y_of)) return BAD_PARAM;
    if (factor(alpha, scale_of(x_of)) != 1 || factor(beta, scale_of(x_of)) != 0) return BAD_PARAM;
    memset(workspace, 255, size);
    int at[MOST_AXES], from[MOST_AXES], inside[MOST_AXES];
    int64_t elements = 1;
    for (int axis = 1; axis < w_of->rank; axis++) elements *= w_of->sizes[axis];
    for (int64_t i = 0; i < count(y_of); i++) {
        place(y_of->sizes, y_of->rank, i, at);
        double sum = 0;
        int group = at[1] / (y_of->sizes[1] / c->groups);
        for (int64_t j = 0; j < elements; j++) {
            int out = 0;
            place(w_of->sizes + 1, w_of->rank - 1, j, inside + 1);
            inside[0] = at[1];
            from[0] = at[0];
            from[1] = group * w_of->sizes[1] + inside[1];
            for (int axis = 0; axis < c->rank; axis++) {
                int where = at[axis + 2] * c->strides[axis] - c->pads[axis] + inside[axis + 2] * c->dilations[axis];
                out |= where < 0 || where >= x_of->sizes[axis + 2];
                from[axis + 2] = where;
            }
            if (!out) sum += get(x, x_of->type, offset(x_of, from)) * get(w, w_of->type, filter_offset(w_of, inside));
        }
        put(y, y_of->type, offset(y_of, at), sum);
    }
    return OK;
}

/* --- cuDNN: recurrent layers of one layer, in one direction or both --- */

static int gates_of(const Cells *c) { return c->mode == 2 ? 4 : c->mode == 3 ? 3 : 1; }

/* Weights lie as: for each direction all matrices, then all biases, the last ones padded by GAP elements. */
#define GAP 3
static int64_t direction_elements(const Cells *c) {
    int64_t h = c->hidden;
    return gates_of(c) * (h * (c->features + h) + 2 * h) + GAP;
}
static int64_t matrix_at(const Cells *c, int direction, int number) {
    int64_t h = c->hidden, first = number < gates_of(c) ? number * h * c->features
        : gates_of(c) * h * c->features + (number - gates_of(c)) * h * h;
    return direction * direction_elements(c) + first;
}
static int64_t bias_at(const Cells *c, int direction, int number) {
    int64_t h = c->hidden;
    return direction * direction_elements(c) + gates_of(c) * h * (c->features + h) + GAP + number * h;
}

int cudnnSetRNNDescriptor_v8(Cells *made, int algorithm, int mode, int biases, int directions, int input, int type,
                             int compute, int math, int features, int hidden, int projected, int layers,
                             const Dropout *dropout, unsigned flags) {
    if (algorithm == 3) return NOT_SUPPORTED;
    if (biases != 2 || input != 0 || projected != hidden || layers != 1 || !dropout || flags != 1) return BAD_PARAM;
    if (compute != (type == DOUBLE ? DOUBLE : FLOAT) || math < 0 || math > 3) return BAD_PARAM;
    *made = (Cells){mode, directions + 1, type, features, hidden};
    return OK;
}
int cudnnSetRNNDataDescriptor(Sequence *made, int type, int layout, int steps, int batch, int features, const int *lengths,
                              const void *filling) {
    if (layout != 0 || !filling) return BAD_PARAM;
    for (int i = 0; i < batch; i++) if (lengths[i] != steps) return BAD_PARAM;
    *made = (Sequence){type, steps, batch, features};
    return OK;
}
int cudnnGetRNNTempSpaceSizes(Any handle, const Cells *c, int mode, const Sequence *x, size_t *workspace, size_t *reserve) {
    if (!handle || mode != 0 || reserve || x->features != c->features) return BAD_PARAM;
    *workspace = WORKSPACE;
    return OK;
}
int cudnnGetRNNWeightSpaceSize(Any handle, const Cells *c, size_t *size) {
    *size = (size_t)(c->directions * direction_elements(c)) * width(c->type);
    return handle ? OK : BAD_PARAM;
}
int cudnnGetRNNWeightParams(Any handle, const Cells *c, int direction, size_t size, char *space, int number, Tensor *matrix,
                            char **matrix_address, Tensor *bias, char **bias_address) {
    size_t needed;
    cudnnGetRNNWeightSpaceSize(handle, c, &needed);
    if (!handle || direction >= c->directions || size != needed || !space || !matrix || !bias) return BAD_PARAM;
    *matrix_address = space + matrix_at(c, direction, number) * (int64_t)width(c->type);
    *bias_address = space + bias_at(c, direction, number) * (int64_t)width(c->type);
    return number < 2 * gates_of(c) ? OK : BAD_PARAM;
}

static double sigmoid(double v) { return 1 / (1 + exp(-v)); }

int cudnnRNNForward(Any handle, const Cells *c, int mode, const int *lengths, const Sequence *x_of, const void *x,
                    const Sequence *y_of, void *y, const Tensor *h_of, const void *hx, void *hy, const Tensor *c_of,
                    const void *cx, void *cy, size_t weights_size, const void *weights, size_t size, void *workspace,
                    size_t reserve_size, void *reserve) {
    size_t needed;
    cudnnGetRNNWeightSpaceSize(handle, c, &needed);
    if (!handle || mode != 0 || lengths || hx || cx || reserve || reserve_size || weights_size != needed) return BAD_PARAM;
    if (size != WORKSPACE || !workspace || y_of->features != c->directions * c->hidden || x_of->type != c->type) return BAD_PARAM;
    if (h_of->rank != 3 || h_of->sizes[0] != c->directions || h_of->sizes[2] != c->hidden || !hy) return BAD_PARAM;
    if ((c->mode == 2) != (cy != NULL) || (c->mode == 2 && !c_of)) return BAD_PARAM;
    int H = c->hidden, I = c->features, G = gates_of(c), N = x_of->batch, T = x_of->steps, type = c->type;
    memset(workspace, 255, size);
    double *h = calloc(H, 8), *cell = calloc(H, 8), *from_x = calloc((size_t)G * H, 8), *from_h = calloc((size_t)G * H, 8);
    for (int d = 0; d < c->directions; d++)
        for (int n = 0; n < N; n++) {
            memset(h, 0, H * 8);
            memset(cell, 0, H * 8);
            for (int step = 0; step < T; step++) {
                int t = d ? T - 1 - step : step;
                for (int g = 0; g < G; g++)
                    for (int j = 0; j < H; j++) {
                        double in = get(weights, type, bias_at(c, d, g) + j), back = get(weights, type, bias_at(c, d, G + g) + j);
                        for (int i = 0; i < I; i++)
                            in += get(weights, type, matrix_at(c, d, g) + (int64_t)j * I + i) * get(x, type, ((int64_t)t * N + n) * I + i);
                        for (int i = 0; i < H; i++) back += get(weights, type, matrix_at(c, d, G + g) + (int64_t)j * H + i) * h[i];
                        from_x[g * H + j] = in;
                        from_h[g * H + j] = back;
                    }
                for (int j = 0; j < H; j++) {
                    double sum[4];
                    for (int g = 0; g < G; g++) sum[g] = from_x[g * H + j] + from_h[g * H + j];
                    if (c->mode == 0) h[j] = sum[0] > 0 ? sum[0] : 0;
                    if (c->mode == 1) h[j] = tanh(sum[0]);
                    if (c->mode == 2) { /* i, f, c, o */
                        cell[j] = sigmoid(sum[1]) * cell[j] + sigmoid(sum[0]) * tanh(sum[2]);
                        h[j] = sigmoid(sum[3]) * tanh(cell[j]);
                    }
                    if (c->mode == 3) { /* r, z, h */
                        double z = sigmoid(sum[1]);
                        double next = tanh(from_x[2 * H + j] + sigmoid(sum[0]) * from_h[2 * H + j]);
                        h[j] = (1 - z) * next + z * h[j];
                    }
                    put(y, type, ((int64_t)t * N + n) * c->directions * H + d * H + j, h[j]);
                }
            }
            for (int j = 0; j < H; j++) {
                put(hy, type, ((int64_t)d * N + n) * H + j, h[j]);
                if (c->mode == 2) put(cy, type, ((int64_t)d * N + n) * H + j, cell[j]);
            }
        }
    free(h);
    free(cell);
    free(from_x);
    free(from_h);
    return OK;
}
