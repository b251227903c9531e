"""Networks of PyTorch's own layers and functions as papers and users write them, for ``write_models.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from more_models import Made
from torch import nn
from torch.nn import functional


class Applied(nn.Module):
    """A function of tensors as a model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, **x: torch.Tensor) -> Any:
        """Return what the function does."""
        return self.function(*x.values())


class Inception(nn.Module):
    """Branches of several sizes side by side, with channels shuffled and weighed by themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv2d(8, 8, 1)
        self.three = nn.Sequential(nn.Conv2d(8, 4, 1), nn.ReLU6(), nn.Conv2d(4, 8, 3, padding=1, bias=False))
        self.apart = nn.Sequential(
            nn.Conv2d(8, 8, (1, 5), padding=(0, 2)), nn.Conv2d(8, 8, (5, 1), padding=(2, 0))
        )
        self.pooled = nn.Sequential(nn.AvgPool2d(3, 1, 1), nn.Conv2d(8, 8, 1))
        self.weigh = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(32, 8, 1), nn.ReLU(), nn.Conv2d(8, 32, 1)
        )
        self.shuffle = nn.ChannelShuffle(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return features."""
        y = torch.cat([self.one(x), self.three(x), self.apart(x), self.pooled(x)], 1)
        return self.shuffle(y * functional.hardsigmoid(self.weigh(y)))


class Pyramid(nn.Module):
    """Atrous convolutions of several rates, and what is known of the whole image, as DeepLab's head has them."""

    def __init__(self) -> None:
        super().__init__()
        self.rates = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=r, dilation=r) for r in (1, 2, 4))
        self.whole = nn.Conv2d(8, 8, 1)
        self.head = nn.Conv2d(32, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the class of each pixel of a larger image."""
        size = x.shape[-2:]
        whole = functional.interpolate(self.whole(x.mean((2, 3), keepdim=True)), size=size, mode="bilinear")
        y = self.head(torch.cat([rate(x) for rate in self.rates] + [whole], 1))
        scores = functional.interpolate(y, scale_factor=4.0, mode="bilinear", align_corners=True)
        return scores.argmax(1)


class Segmenting(nn.Module):
    """SegNet: maxima go back to the places where they were found."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 2, 3, padding=1)
        self.pool, self.unpool = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return scores of each pixel."""
        y, places = self.pool(self.down(x).relu())
        return self.up(self.unpool(y, places))


class Stepping(nn.Module):
    """Cells that a loop steps through, as users write decoders and models of weather."""

    def __init__(self) -> None:
        super().__init__()
        self.long, self.gated = nn.LSTMCell(6, 8), nn.GRUCell(8, 8)
        self.head = nn.Linear(8, 6)
        self.gates = nn.Conv2d(2 + 4, 16, 3, padding=1)

    def forward(self, x: torch.Tensor, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return what is predicted step by step."""
        h, c = torch.zeros(x.shape[0], 8), torch.zeros(x.shape[0], 8)
        g, found = torch.zeros(x.shape[0], 8), []
        step = x[:, 0]
        for t in range(x.shape[1]):
            h, c = self.long(step + x[:, t], (h, c))
            g = self.gated(h, g)
            step = self.head(g)
            found.append(step)
        state = memory = torch.zeros(image.shape[0], 4, *image.shape[-2:])
        for _ in range(3):
            i, f, o, n = self.gates(torch.cat([image, state], 1)).chunk(4, 1)
            memory = f.sigmoid() * memory + i.sigmoid() * n.tanh()
            state = o.sigmoid() * memory.tanh()
        return torch.stack(found, 1), state


class Attending(nn.Module):
    """A transformer of both parts with masks, as PyTorch has it."""

    def __init__(self, **more: Any) -> None:
        super().__init__()
        self.both = nn.Transformer(16, 4, 1, 2, 32, batch_first=True, **more)

    def forward(self, source: torch.Tensor, target: torch.Tensor, absent: torch.Tensor) -> torch.Tensor:
        """Return features of the target."""
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.both(
            source, target, tgt_mask=mask, src_key_padding_mask=absent, memory_key_padding_mask=absent
        )


class GraphAttention(nn.Module):
    """Attention along the edges of a dense graph, and sums over nodes of each graph of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.values = nn.Linear(6, 8, bias=False)
        self.left, self.right = nn.Linear(8, 1), nn.Linear(8, 1)

    def forward(self, x: torch.Tensor, edges: torch.Tensor, graph: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return features of nodes and of graphs."""
        y = self.values(x)
        scores = functional.leaky_relu(self.left(y) + self.right(y).T, 0.2)
        shares = scores.masked_fill(edges == 0, float("-inf")).softmax(-1).nan_to_num(0.0)
        y = functional.elu(shares @ y)
        sums = torch.zeros(2, 8).scatter_add(0, graph[:, None].expand(-1, 8), y)
        largest = torch.full((2, 8), -1e9).scatter_reduce(0, graph[:, None].expand(-1, 8), y, "amax")
        return y, sums, largest


class Points(nn.Module):
    """A cloud of points: the nearest neighbours of each, and the largest of what they say (DGCNN)."""

    def __init__(self) -> None:
        super().__init__()
        self.edge = nn.Conv2d(6, 8, 1)
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return scores of each cloud."""
        places = torch.cdist(x, x).topk(4, largest=False)[1]
        batch = torch.arange(x.shape[0])[:, None, None]
        near = x[batch, places]
        pairs = torch.cat([near - x[:, :, None], x[:, :, None].expand_as(near)], -1)
        return self.head(self.edge(pairs.permute(0, 3, 1, 2)).amax(3).amax(2))


class Waves(nn.Module):
    """Causal convolutions of growing reach with gates (WaveNet), and a spectrum."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(4, 8, 2, dilation=2**n) for n in range(3))
        self.first, self.last = nn.Conv1d(1, 4, 1), nn.ConvTranspose1d(4, 2, 4, 2, 1, output_padding=1)
        self.register_buffer("window", torch.hann_window(16))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return samples at twice the rate, and magnitudes."""
        y = self.first(x)
        for n, layer in enumerate(self.layers):
            y = y + functional.glu(layer(functional.pad(y, (2**n, 0))), 1)
        spectrum = torch.stft(x[:, 0], 16, 8, window=self.window, return_complex=True)
        return self.last(y), torch.view_as_real(spectrum).pow(2).sum(-1).clamp(min=1e-6).log()


class Spectral(nn.Module):
    """A long convolution by spectra (S4, Fourier operators)."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(4, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the convolution."""
        n = 2 * x.shape[-1]
        return torch.fft.irfft(torch.fft.rfft(x, n) * torch.fft.rfft(self.kernel, n), n)[..., : x.shape[-1]]


class Tags(nn.Module):
    """A conditional random field: the score of all sequences of tags, and the best one."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = nn.Parameter(torch.randn(5, 5))

    def forward(self, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return both."""
        total = best = scores[:, 0]
        back = []
        for t in range(1, scores.shape[1]):
            total = torch.logsumexp(total[:, :, None] + self.turns, 1) + scores[:, t]
            best, place = (best[:, :, None] + self.turns).max(1)
            best = best + scores[:, t]
            back.append(place)
        tags = [best.argmax(1)]
        for place in reversed(back):
            tags.append(place.gather(1, tags[-1][:, None])[:, 0])
        return total.logsumexp(1), torch.stack(tags[::-1], 1)


class Bags(nn.Module):
    """Tables of categories and numbers that meet in products (recommenders)."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(n, 6, mode="sum") for n in (11, 7))
        self.dense, self.bilinear = nn.Linear(4, 6), nn.Bilinear(6, 6, 3)
        self.norm = nn.BatchNorm1d(6)

    def forward(self, numbers: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Return scores."""
        rows = [self.norm(self.dense(numbers)), self.tables[0](first), self.tables[1](second)]
        stacked = torch.stack(rows, 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        upper = torch.triu_indices(3, 3, 1)
        meet = products[:, upper[0], upper[1]]
        return torch.cat(
            [meet, self.bilinear(rows[0], rows[1]), functional.cosine_similarity(rows[1], rows[2])[:, None]],
            1,
        )


def _elements(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    small = x.tanh() * 0.9
    return (
        torch.atan2(x, y),
        torch.fmod(x, 0.7),
        torch.remainder(x, 0.7),
        torch.lerp(x, y, 0.3),
        torch.addcmul(x, y, y, value=0.5),
        torch.clamp(x, min=y - 1, max=y + 1),
        torch.maximum(x, y) - torch.minimum(x, y),
        torch.logaddexp(x, y),
        torch.acos(small) + torch.asin(small) + torch.atanh(small) + torch.cosh(small) + torch.tan(small),
        torch.frac(x) + torch.trunc(x) + torch.round(x) + torch.ceil(x),
        torch.rsqrt(x.abs() + 1)
        + torch.square(x)
        + torch.exp2(x)
        + torch.log2(x.abs() + 1)
        + torch.log10(x.abs() + 1),
        torch.special.expit(x) + torch.sinc(x) + torch.logit(small.abs() * 0.5 + 0.1),
        torch.heaviside(x, y) + torch.sign(x) * torch.signbit(y),
        torch.where(torch.isfinite(x / y.round()), x, y),
        torch.isclose(x, y) | torch.isinf(x) | ~torch.isnan(y),
    )


def _units(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    f = functional
    return (
        f.logsigmoid(x) + f.tanhshrink(x) + f.softsign(x) + f.threshold(x, 0.1, -1.0),
        f.softplus(x, beta=2.0, threshold=5.0) + f.gelu(x, approximate="tanh") + f.selu(x),
        f.relu6(x) + f.elu(x, 0.5) + f.leaky_relu(x, 0.3) + f.hardswish(x),
        f.softmin(x, 1) + f.log_softmax(x, 2),
        f.glu(x, 1),
        f.softmax(x / 0.5, 1),
        f.layer_norm(x, x.shape[1:]),
        f.group_norm(x, 2),
        f.instance_norm(x),
        f.rms_norm(x, x.shape[-1:]),
    )


def _reductions(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    ordered, order = x.sort(-1, descending=True)
    return (
        ordered,
        order,
        x.argsort(1),
        x.var((1, 2)),
        torch.var_mean(x, -1)[1],
        x.amin((0, 2)),
        x.aminmax(dim=1)[0],
        x.norm(p=1, dim=1),
        torch.linalg.vector_norm(x, ord=3, dim=-1),
        x.prod(1),
        (x > 0).any(1),
        (x > -9).all(2),
        (x > 0).sum(1),
        torch.count_nonzero(x > 0.5, 1),
        x.argmin(-1, keepdim=True),
        x.diff(dim=1),
        torch.trapezoid(x, dim=-1),
    )


def _moves(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        x.flip((1, 2)),
        torch.rot90(x, 1, (1, 2)),
        x.roll(2, 1),
        x.repeat_interleave(2, 1),
        x.repeat(1, 2, 1),
        x.unfold(2, 3, 2),
        torch.diagonal(x, dim1=1, dim2=2),
        torch.diag_embed(x[:, 0]),
        x.unflatten(2, (3, 2)),
        torch.kron(x[0], torch.ones(2, 1)),
        torch.outer(x[0, 0], x[0, 1]),
        torch.tensordot(x, x, dims=([1, 2], [1, 2])),
        torch.einsum("bij,bkj->bik", x, x),
        torch.block_diag(x[0], x[1]),
        torch.stack(torch.meshgrid(x[0, 0], x[0, 1], indexing="xy")),
        x.swapaxes(0, 2).contiguous().movedim(0, 1),
        torch.hstack(x.tensor_split(2, 1)),
        x[:, ::2, 1:-1],
        x[..., None].expand(-1, -1, -1, 2).flatten(2),
        x.index_select(1, torch.tensor([3, 0])),
        x.masked_fill(x > 0, 2.0).tril().triu(-1),
    )


def _places(x: torch.Tensor, at: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.clone()
    y[:, 1] = 0.5
    y[0, :, 2] = x[1, :, 0]
    z = x.clone()
    z[torch.arange(2)[:, None], at] = 1.0
    counts = torch.zeros(2, 4).scatter(1, at, 2.0)
    return (
        y,
        z,
        counts,
        x[torch.arange(2)[:, None], at],
        torch.take_along_dim(x, at[..., None], 1),
        x.index_copy(1, torch.tensor([2, 0]), x[:, :2] * 2),
        x.index_fill(1, torch.tensor([1]), 3.0),
        x.index_add(1, torch.tensor([1, 1]), x[:, :2]),
        torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])),
        torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), x[0]),
        torch.isin(at, torch.tensor([1, 3])),
        functional.one_hot(at, 5),
        torch.bincount(torch.tensor([0, 1, 1, 3]), minlength=5),
        torch.nn.functional.embedding(at, x[0]),
    )


def _integers(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        a // b,
        a % b,
        torch.div(a, b, rounding_mode="trunc"),
        torch.fmod(a, b),
        a / b,
        a**2 + b,
        (a > b) & (a != 3) | ~(b <= 2) ^ (a == b),
        torch.maximum(a, b).clamp(1, 5),
        a.float().mean(1).long(),
        a.to(torch.int32).sum(1),
        a.cumsum(1),
        (a - b).abs().sign(),
        a.max(1)[0] - a.min(1)[0],
        torch.where(a > b, a, -b),
        a.sort(1)[0],
    )


def _bits(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return a & b, a | b, a ^ b, a << 2, a >> 1


def _windows(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    f = functional
    patches = f.unfold(x, 3, stride=2, padding=1)
    return (
        f.fold(patches, (8, 8), 3, stride=2, padding=1),
        f.adaptive_max_pool2d(x, 2),
        f.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        f.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
        f.lp_pool2d(x, 2, 2),
        f.pad(x, (1, 2, 0, 1), mode="circular"),
        f.pad(x, (1, -1, 2, 0), value=1.5),
        f.interpolate(x, size=(5, 5), mode="area"),
        f.interpolate(x, scale_factor=(2.0, 0.5), mode="nearest-exact"),
        f.interpolate(x, size=(12, 9), mode="bicubic", align_corners=True),
        f.interpolate(x, size=(4, 4), mode="bilinear", antialias=True),
        f.pixel_shuffle(x, 2),
        f.channel_shuffle(x, 2),
    )


def _volumes(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    f = functional
    return (
        f.max_pool3d(x, 2),
        f.avg_pool3d(x, 2, 1),
        f.adaptive_avg_pool3d(x, (2, 1, 2)),
        f.interpolate(x, scale_factor=2.0, mode="trilinear"),
        f.interpolate(x, scale_factor=2.0, mode="nearest"),
        f.pad(x, (1, 1, 1, 1, 1, 1), mode="replicate"),
        f.max_pool1d(x.flatten(2), 3, 2),
        f.interpolate(x.flatten(2), scale_factor=1.5, mode="linear"),
    )


def _matrices(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.baddbmm(a, a, b),
        torch.addmm(a[0], a[0], b[0], beta=0.5, alpha=2.0),
        torch.linalg.matrix_norm(a),
        torch.det(a),
        torch.matrix_power(a[0], 3),
        torch.linalg.cross(a[..., :3], b[..., :3]),
        torch.trace(a[0]),
        torch.mv(a[0], b[0, 0]) + torch.dot(a[0, 0], b[0, 0]),
        functional.pairwise_distance(a, b),
        torch.chain_matmul(a[0], b[0], a[1]),
    )


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, ...]:
    f = functional
    slopes = torch.tensor([0.5, 0.25])[:, None, None]
    away = torch.arange(6)[None] - torch.arange(6)[:, None]
    return (
        f.scaled_dot_product_attention(q, k, v, is_causal=True),
        f.scaled_dot_product_attention(q, k, v, attn_mask=slopes * away, scale=0.3),
        f.scaled_dot_product_attention(q, k, v, attn_mask=(away <= 0) & (away > -3)),
        f.scaled_dot_product_attention(q, k[:, :1], v[:, :1], enable_gqa=True),
        (f.elu(q) + 1) @ ((f.elu(k) + 1).transpose(-1, -2) @ v),
    )


FUNCTIONS: dict[str, tuple[Callable[..., Any], Sequence[tuple[int, ...]]]] = {
    "attention": (_attention, ((2, 2, 6, 8),) * 3),
    "elements": (_elements, ((2, 4, 6),) * 2),
    "matrices": (_matrices, ((2, 4, 4),) * 2),
    "moves": (_moves, ((2, 4, 6),)),
    "reductions": (_reductions, ((2, 4, 6),)),
    "units": (_units, ((2, 4, 6),)),
    "volumes": (_volumes, ((2, 3, 4, 4, 6),)),
    "windows": (_windows, ((2, 4, 8, 8),)),
}


def _function(name: str) -> Made:
    function, shapes = FUNCTIONS[name]
    return Applied(function), {f"x{n}": torch.randn(shape) for n, shape in enumerate(shapes)}


def _whole(function: Callable[..., Any]) -> Made:
    return Applied(function), {"a": torch.randint(-9, 9, (3, 5)), "b": torch.randint(1, 9, (3, 5))}


def layered() -> dict[str, Callable[[], Made]]:
    """Return what makes each of these models."""
    nodes = {
        "x": torch.randn(5, 6),
        "edges": (torch.rand(5, 5) > 0.4).long(),
        "graph": torch.tensor([0, 0, 1, 1, 1]),
    }
    bags = {
        "numbers": torch.randn(3, 4),
        "first": torch.randint(0, 11, (3, 4)),
        "second": torch.randint(0, 7, (3, 2)),
    }
    words = {
        "source": torch.randn(2, 5, 16),
        "target": torch.randn(2, 4, 16),
        "absent": torch.tensor([[False] * 5, [False, False, False, True, True]]),
    }
    volume = nn.Sequential(
        nn.Conv3d(2, 4, 3, padding=1), nn.BatchNorm3d(4), nn.ReLU(), nn.ConvTranspose3d(4, 2, 2, 2)
    )
    return {
        **{f"torch_{name}": lambda name=name: _function(name) for name in FUNCTIONS},
        "torch_atrous": lambda: (Pyramid(), {"x": torch.randn(2, 8, 9, 9)}),
        "torch_attending": lambda: (Attending(), words),
        "torch_attending_first": lambda: (Attending(norm_first=True, activation="gelu"), words),
        "torch_bags": lambda: (Bags(), bags),
        "torch_bits": lambda: _whole(_bits),
        "torch_graph_attention": lambda: (GraphAttention(), nodes),
        "torch_inception": lambda: (Inception(), {"x": torch.randn(2, 8, 10, 10)}),
        "torch_integers": lambda: _whole(_integers),
        "torch_places": lambda: (
            Applied(_places),
            {"x": torch.randn(2, 4, 3), "at": torch.tensor([[0, 2], [3, 1]])},
        ),
        "torch_points": lambda: (Points(), {"x": torch.randn(2, 9, 3)}),
        "torch_segmenting": lambda: (Segmenting(), {"x": torch.randn(2, 3, 8, 8)}),
        "torch_spectral": lambda: (Spectral(), {"x": torch.randn(2, 4, 16)}),
        "torch_stepping": lambda: (
            Stepping(),
            {"x": torch.randn(2, 4, 6), "image": torch.randn(2, 2, 5, 5)},
        ),
        "torch_tags": lambda: (Tags(), {"scores": torch.randn(2, 4, 5)}),
        "torch_volume": lambda: (volume, {"input": torch.randn(2, 2, 4, 6, 6)}),
        "torch_waves": lambda: (Waves(), {"x": torch.randn(2, 1, 64)}),
    }


NETWORKS = {
    "alexnet": 64,
    "convnext_tiny": 64,
    "densenet121": 64,
    "efficientnet_b0": 64,
    "efficientnet_v2_s": 64,
    "googlenet": 64,
    "inception_v3": 96,
    "mnasnet0_5": 64,
    "mobilenet_v2": 64,
    "mobilenet_v3_small": 64,
    "regnet_x_400mf": 64,
    "regnet_y_400mf": 64,
    "resnet18": 64,
    "resnext50_32x4d": 64,
    "shufflenet_v2_x0_5": 64,
    "squeezenet1_1": 64,
    "swin_t": 64,
    "swin_v2_t": 64,
    "segmentation.deeplabv3_mobilenet_v3_large": 64,
    "segmentation.fcn_resnet50": 64,
    "segmentation.lraspp_mobilenet_v3_large": 64,
    "video.mc3_18": 32,
    "video.r2plus1d_18": 32,
    "video.s3d": 64,
    "optical_flow.raft_small": 128,
}
"""Of torchvision, with the size of the images."""


def _network(name: str, size: int) -> Made:
    import torchvision

    place, _, short = name.rpartition(".")
    rooms = torchvision.models
    kind = getattr(getattr(rooms, place) if place else rooms, short)
    more = {"num_classes": 5} if place != "optical_flow" else {}
    if short in ("googlenet", "inception_v3"):
        more |= {"aux_logits": False, "init_weights": True}
    if place == "segmentation":
        more |= {"weights_backbone": None}
    found = kind(weights=None, **more)
    if place == "optical_flow":

        class Flow(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.model = found

            def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
                return self.model(a, b, num_flow_updates=2)[-1]

        return Flow(), {"a": torch.randn(1, 3, size, size), "b": torch.randn(1, 3, size, size)}
    shape = (1, 3, 16 if short == "s3d" else 4, size, size) if place == "video" else (1, 3, size, size)
    return found, {"x": torch.randn(shape)}


def networks() -> dict[str, Callable[[], Made]]:
    """Return what makes each of torchvision's models."""
    return {
        f"torchvision_{name.rpartition('.')[2]}": lambda row=row: _network(*row)
        for name, row in ((name, (name, size)) for name, size in NETWORKS.items())
    }
