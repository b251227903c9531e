"""From a graph to an ONNX model: the operators, one group per file, and the model that they add up to."""
