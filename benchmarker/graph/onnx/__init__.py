"""ONNX models: read into graphs, and written from them."""
