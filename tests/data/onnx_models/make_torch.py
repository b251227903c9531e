"""Export small models by ``torch.onnx``, and keep what PyTorch computes of them beside each.

Run with an interpreter that has torch, onnx and onnxscript: ``python make_torch.py``; the files are kept.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

FOLDER = Path(__file__).parent


class Convolutional(nn.Module):  # type: ignore[misc]
    """Convolutions, batch normalization, pooling, a residual connection, a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.Hardswish(), nn.Conv2d(8, 8, 1))
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(8, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        return self.head(self.pool(nn.functional.relu6(x + self.deep(x))))


class Recurrent(nn.Module):  # type: ignore[misc]
    """Embedded tokens, a bidirectional LSTM, a GRU, the last step classified."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 6)
        self.lstm = nn.LSTM(6, 5, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(10, 4, batch_first=True)
        self.fc = nn.Linear(4, 3)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x, _ = self.lstm(self.table(tokens))
        x, _ = self.gru(x)
        return self.fc(x[:, -1])


class Transformer(nn.Module):  # type: ignore[misc]
    """Embedded tokens and positions, attention with a causal mask, a feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(20, 8), nn.Embedding(12, 8)
        self.norm1, self.norm2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        count, length = tokens.shape
        x = self.tokens(tokens) + self.positions(torch.arange(length))
        q, k, v = self.qkv(self.norm1(x)).reshape(count, length, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        heads = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).reshape(count, length, 8))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Segmenting(nn.Module):  # type: ignore[misc]
    """Down, up by transposed convolution and by interpolation, joined."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(2, 4, 3, 2, 1)
        self.norm = nn.GroupNorm(2, 4)
        self.up = nn.ConvTranspose2d(4, 2, 2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        deep = nn.functional.silu(self.norm(self.down(x)))
        wide = nn.functional.interpolate(deep, scale_factor=2.0, mode="bilinear", align_corners=False)
        near = nn.functional.interpolate(deep, scale_factor=2.0, mode="nearest")
        return torch.cat([self.up(deep), wide, near, x], dim=1).softmax(dim=1)


def export(name: str, model: nn.Module, sample: torch.Tensor) -> None:
    """Write the model twice, by the exporter of today and the older one, and what it computes."""
    model.eval()
    with torch.no_grad():
        expected = model(sample)
    keywords = {"input_names": ["x"], "output_names": ["y"], "external_data": False, "verbose": False}
    batch = {"x": {0: "batch"}}
    older = dict(keywords, dynamo=False, opset_version=17, dynamic_axes=batch)
    torch.onnx.export(model, (sample,), str(FOLDER / f"torch_{name}_older.onnx"), **older)
    symbols = ({0: torch.export.Dim("batch")},)
    newer = dict(keywords, dynamo=True, dynamic_shapes=symbols)
    torch.onnx.export(model, (sample,), str(FOLDER / f"torch_{name}.onnx"), **newer)
    np.savez(FOLDER / f"torch_{name}.npz", x=sample.numpy(), y=expected.numpy())


def main() -> None:
    """Export all."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(3, 3, 16, 16, generator=generator)
    tokens = torch.randint(0, 20, (3, 7), generator=generator)
    export("convolutional", Convolutional(), images)
    export("recurrent", Recurrent(), tokens)
    export("transformer", Transformer(), tokens)
    export("segmenting", Segmenting(), images[:, :2])


if __name__ == "__main__":
    main()
