"""What engines that take ONNX models share: the model with its values, the program, where its nodes came from."""
