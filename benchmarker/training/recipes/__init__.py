"""The recipes that come with benchmarker: blueprints with a training, and the runs that their targets rest on."""

from __future__ import annotations

from pathlib import Path

from benchmarker.api.recipe import RecipeFile

_HERE = Path(__file__).parent


def _recipe(name: str, description: str) -> RecipeFile:
    return RecipeFile(name, description, _HERE / f"{name}.toml", _HERE / f"{name}.json")


def _published(name: str, description: str) -> RecipeFile:
    """Return a recipe of data that its user brings: its target is a published one, and there are no reference runs."""
    return RecipeFile(name, f"{description}; a published target, no reference runs", _HERE / f"{name}.toml")


BREAST_CANCER = _recipe(
    "breast_cancer", "a small perceptron on scikit-learn's breast cancer, to 96 % of the test samples"
)
CHAR_LSTM = _recipe(
    "char_lstm",
    "an LSTM of 64 cells on CPython's own English text, to 3 bits per character of what is held back",
)
DIGITS_CNN = _recipe(
    "digits_cnn", "three convolutions on shifted digits of scikit-learn, to 98 % of the test images"
)
DIGITS_MLP = _recipe(
    "digits_mlp", "a perceptron of 64-128-10 on scikit-learn's digits, to 95 % of the test images"
)
CIFAR10_VGG = _published("cifar10_vgg", "Rysia's VGG on CIFAR-10's binary files, to 87 % of its test set")
IMDB_LSTM = _published(
    "imdb_lstm", "Rysia's LSTM on IMDB's reviews as GloVe vectors, to 87.8 % of its test set"
)
MNIST_LENET = _published("mnist_lenet", "LeNet-5 on MNIST's IDX files, to 99.05 % of its test set")
MNIST_MLP = _published("mnist_mlp", "Rysia's perceptron on MNIST's IDX files, to 96.95 % of its test set")
RESNET50_IMAGENET = _published(
    "resnet50_imagenet",
    "ResNet-50 on ImageNet's folders train and val by Goyal et al. 2017, to 75.9 % of val",
)
