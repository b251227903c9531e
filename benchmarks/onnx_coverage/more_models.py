"""Further families of models for ``write_models.py``: of transformers, and of layers of PyTorch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Made = tuple[Any, dict[str, Any]]
BASE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 97,
    "max_position_embeddings": 64,
}
CAUSAL = {**BASE, "num_key_value_heads": 2, "pad_token_id": 0}
EXPERTS = {
    **CAUSAL,
    "num_local_experts": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
}
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 97, "n_positions": 64}
LANGUAGE: dict[str, tuple[str, dict[str, Any]]] = {
    "bigbird": ("BigBird", {**BASE, "attention_type": "original_full"}),
    "camembert": ("Camembert", BASE),
    "convbert": ("ConvBert", {**BASE, "embedding_size": 32, "head_ratio": 2, "conv_kernel_size": 3}),
    "ernie": ("Ernie", BASE),
    "esm": ("Esm", {**BASE, "pad_token_id": 1, "mask_token_id": 2, "token_dropout": False}),
    "fnet": ("FNet", BASE),
    "funnel": (
        "Funnel",
        {"d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 48, "block_sizes": [1, 1], "vocab_size": 97},
    ),
    "ibert": ("IBert", BASE),
    "deberta_first": ("Deberta", {**BASE, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "longformer": ("Longformer", {**BASE, "attention_window": [4, 4]}),
    "megatron": ("MegatronBert", BASE),
    "nystromformer": ("Nystromformer", {**BASE, "num_landmarks": 4, "segment_means_seq_len": 12}),
    "rembert": ("RemBert", {**BASE, "input_embedding_size": 16, "output_embedding_size": 16}),
    "roformer": ("RoFormer", {**BASE, "embedding_size": 32}),
    "splinter": ("Splinter", BASE),
    "xlm": ("XLM", {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "vocab_size": 97, "n_words": 97}),
    "xlnet": ("XLNet", {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48, "vocab_size": 97}),
    "codegen": ("CodeGen", {**GPT, "rotary_dim": 4}),
    "ctrl": ("CTRL", {**GPT, "dff": 48}),
    "gpt_bigcode": ("GPTBigCode", GPT),
    "mpt": ("Mpt", {"d_model": 32, "n_layers": 2, "n_heads": 4, "vocab_size": 97, "max_seq_len": 64}),
    "cohere": ("Cohere", CAUSAL),
    "gemma3": ("Gemma3Text", {**CAUSAL, "head_dim": 8}),
    "glm": ("Glm", {**CAUSAL, "head_dim": 8}),
    "granite": ("Granite", CAUSAL),
    "mixtral": ("Mixtral", EXPERTS),
    "olmo2": ("Olmo2", CAUSAL),
    "phi3": ("Phi3", CAUSAL),
    "qwen2_moe": ("Qwen2Moe", EXPERTS),
    "smollm3": ("SmolLM3", CAUSAL),
    "starcoder2": ("Starcoder2", CAUSAL),
    "xglm": ("XGLM", {"d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 48, "vocab_size": 97}),
    "mamba": ("Mamba", {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "vocab_size": 97}),
}
IMAGES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 32,
    "patch_size": 8,
}
STAGES = {"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1]}
VISION: dict[str, tuple[str, dict[str, Any]]] = {
    "convnextv2": ("ConvNextV2", {**STAGES, "image_size": 32}),
    "cvt": ("Cvt", {"embed_dim": [8, 16, 16], "num_heads": [1, 2, 2], "depth": [1, 1, 1], "image_size": 32}),
    "data2vec_vision": ("Data2VecVision", IMAGES),
    "efficientnet": (
        "EfficientNet",
        {"width_coefficient": 0.2, "depth_coefficient": 0.2, "hidden_dim": 16, "image_size": 64},
    ),
    "focalnet": (
        "FocalNet",
        {"embed_dim": 8, "depths": [1, 1], "focal_levels": [1, 1], "focal_windows": [3, 3], "image_size": 32},
    ),
    "ijepa": ("IJepa", IMAGES),
    "levit": (
        "Levit",
        {
            "hidden_sizes": [16, 16, 16],
            "key_dim": [4, 4, 4],
            "num_attention_heads": [2, 2, 2],
            "depths": [1, 1, 1],
            "image_size": 64,
        },
    ),
    "mobilenet_v1": ("MobileNetV1", {"depth_multiplier": 0.25, "image_size": 64}),
    "mobilenet_v2": ("MobileNetV2", {"depth_multiplier": 0.35, "image_size": 64}),
    "mobilevitv2": ("MobileViTV2", {"width_multiplier": 0.25, "image_size": 64}),
    "poolformer": ("PoolFormer", {**STAGES}),
    "pvt_v2": ("PvtV2", {**STAGES, "num_attention_heads": [1, 2, 2, 2], "image_size": 64}),
    "resnet": ("ResNet", {"embedding_size": 8, **STAGES}),
    "siglip": ("SiglipVision", IMAGES),
    "swiftformer": ("SwiftFormer", {"embed_dims": [8, 16, 16, 16], "depths": [1, 1, 1, 1]}),
    "swinv2": (
        "Swinv2",
        {
            "image_size": 32,
            "patch_size": 2,
            "embed_dim": 16,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
    ),
    "vit_hybrid": ("ViTMSN", IMAGES),
    "yolos": ("Yolos", {**IMAGES, "image_size": [32, 32], "num_detection_tokens": 5}),
}
SOUND = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "conv_dim": (16, 16),
    "conv_kernel": (10, 3),
    "conv_stride": (5, 2),
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "vocab_size": 32,
    "num_feat_extract_layers": 2,
}


def tokens(length: int = 12) -> torch.Tensor:
    """Return token ids of two samples."""
    return torch.randint(3, 97, (2, length))


def language(name: str, config: dict[str, Any]) -> Made:
    """Return a model over tokens and a mask, and its inputs."""
    import transformers

    made = getattr(transformers, f"{name}Config")(**config)
    made.use_cache = False
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[1, 8:] = 0
    inputs = (
        {"input_ids": tokens()}
        if name in ("FNet", "Mamba")
        else {"input_ids": tokens(), "attention_mask": mask}
    )
    return getattr(transformers, f"{name}Model")(made), inputs


def vision(name: str, config: dict[str, Any]) -> Made:
    """Return a model over images, and its input."""
    import transformers

    size = config.get("image_size", 64)
    size = size if isinstance(size, int) else size[0]
    model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**config))
    return model, {"pixel_values": torch.randn(2, 3, size, size)}


def _sound(name: str) -> Made:
    import transformers

    model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**SOUND))
    return model, {"input_values": torch.randn(2, 800)}


def _detr() -> Made:
    import transformers as t

    backbone = t.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], out_features=["stage4"]
    )
    made = t.DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=backbone,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        num_queries=5,
    )
    return t.DetrForObjectDetection(made), {"pixel_values": torch.randn(2, 3, 64, 64)}


def _sam() -> Made:
    import transformers as t

    made = t.SamConfig(
        vision_config={
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 64,
            "patch_size": 8,
            "output_channels": 16,
            "window_size": 4,
            "global_attn_indexes": [1],
            "mlp_dim": 48,
            "num_pos_feats": 8,
        },
        prompt_encoder_config={
            "hidden_size": 16,
            "image_size": 64,
            "patch_size": 8,
            "mask_input_channels": 4,
        },
        mask_decoder_config={
            "hidden_size": 16,
            "mlp_dim": 32,
            "num_attention_heads": 2,
            "iou_head_hidden_dim": 16,
            "num_hidden_layers": 1,
        },
    )
    points = torch.rand(2, 1, 2, 2) * 60
    return t.SamModel(made), {"pixel_values": torch.randn(2, 3, 64, 64), "input_points": points}


def _siglip() -> Made:
    import transformers as t

    made = t.SiglipConfig(text_config={**BASE, "projection_size": 32}, vision_config=IMAGES)
    return t.SiglipModel(made), {"input_ids": tokens(), "pixel_values": torch.randn(2, 3, 32, 32)}


def _segmented() -> Made:
    import transformers as t

    made = t.SegformerConfig(**STAGES, num_attention_heads=[1, 2, 2, 2], decoder_hidden_size=16)
    return t.SegformerForSemanticSegmentation(made), {"pixel_values": torch.randn(2, 3, 64, 64)}


def _spectrogram() -> Made:
    import transformers as t

    made = t.ASTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_length=64,
        num_mel_bins=32,
    )
    return t.ASTModel(made), {"input_values": torch.randn(2, 64, 32)}


class Recurrent(nn.Module):
    """A recurrent layer of PyTorch's own, and a dense one."""

    def __init__(self, kind: str, given: bool = False, **settings: Any) -> None:
        super().__init__()
        self.layer = getattr(nn, kind)(8, 12, **settings)
        self.head = nn.Linear(24 if settings.get("bidirectional") else 12, 5)
        self.given = given

    def forward(self, x: torch.Tensor, *state: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return scores of each step."""
        y, last = self.layer(x, *((state[0],) if self.given else ()))
        return self.head(y), *(last if isinstance(last, tuple) else (last,))


class Transformed(nn.Module):
    """A spatial transformer: an image is sampled where a map that is computed from it says."""

    def __init__(self, mode: str, padding: str) -> None:
        super().__init__()
        self.where = nn.Linear(3 * 12 * 12, 6)
        self.mode, self.padding = mode, padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the image."""
        theta = self.where(x.flatten(1)).view(-1, 2, 3) * 0.1 + torch.eye(2, 3)
        grid = functional.affine_grid(theta, list(x.shape), align_corners=False)
        return functional.grid_sample(x, grid, mode=self.mode, padding_mode=self.padding, align_corners=False)


class Graph(nn.Module):
    """Messages along the edges of a graph, summed at their ends."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.update = nn.Linear(8, 8), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        """Return features of the nodes."""
        sent = self.message(x)[ends[0]]
        received = torch.zeros_like(x).index_add(0, ends[1], sent)
        return self.update(torch.cat([x, received], 1)).relu()


class Pyramid(nn.Module):
    """A detector's feature pyramid with heads for boxes and classes on three scales."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList(nn.Conv2d(a, b, 3, 2, 1) for a, b in ((3, 8), (8, 16), (16, 24)))
        self.sides = nn.ModuleList(nn.Conv2d(n, 8, 1) for n in (8, 16, 24))
        self.box, self.label = nn.Conv2d(8, 12, 3, padding=1), nn.Conv2d(8, 9, 3, padding=1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return boxes, classes and the best of them."""
        features = []
        for stage in self.stages:
            x = functional.silu(stage(x))
            features.append(x)
        top = self.sides[2](features[2])
        maps = [top]
        for place in (1, 0):
            top = functional.interpolate(top, size=features[place].shape[-2:]) + self.sides[place](
                features[place]
            )
            maps.append(top)
        boxes = torch.cat([self.box(m).permute(0, 2, 3, 1).reshape(m.shape[0], -1, 4) for m in maps], 1)
        labels = torch.cat([self.label(m).permute(0, 2, 3, 1).reshape(m.shape[0], -1, 3) for m in maps], 1)
        scores, kinds = labels.softmax(-1).max(-1)
        best, places = scores.topk(10)
        return boxes.gather(1, places[..., None].expand(-1, -1, 4)), best, kinds.gather(1, places)


class Written(nn.Module):
    """What users write with functions of PyTorch's own."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return results of rarer functions."""
        f = functional
        return (
            torch.einsum("bchw,bdhw->bcd", x, x),
            f.interpolate(x, size=(11, 7), mode="bilinear", align_corners=True),
            f.interpolate(x, scale_factor=1.7, mode="bicubic"),
            f.interpolate(x, size=(5, 20), mode="nearest"),
            f.pad(x, (2, 1, 1, 2), mode="reflect"),
            f.pad(x, (1, 2, 2, 1), mode="replicate"),
            f.pixel_shuffle(x, 2),
            f.pixel_unshuffle(x, 2),
            f.local_response_norm(x.abs(), 3),
            f.max_pool2d(x, 3, 2, dilation=2),
            f.avg_pool2d(x, 3, 2, ceil_mode=True),
            f.adaptive_avg_pool2d(x, (3, 4)),
            f.unfold(x, 3, padding=1),
            f.normalize(x, dim=1),
            torch.cumsum(x, -1).prod(1),
            torch.atan(x) + torch.sinh(x) + torch.asinh(x),
            torch.roll(x, (1, -2), (2, 3)),
            torch.sort(x, dim=1)[0],
            torch.tril(x[:, 0]) + torch.logsumexp(x, 1),
            torch.std(x, (2, 3)) + torch.norm(x, dim=(2, 3)),
            f.hardshrink(x) + f.celu(x) + f.mish(x) + f.hardtanh(x) + f.softshrink(x),
        )


def plain() -> dict[str, Callable[[], Made]]:
    """Return models of PyTorch's own layers."""
    steps = {"x": torch.randn(7, 2, 8)}
    found: dict[str, Callable[[], Made]] = {
        f"torch_{kind.lower()}_{name}": lambda kind=kind, more=more: (Recurrent(kind, **more), steps)
        for kind in ("LSTM", "GRU", "RNN")
        for name, more in (
            ("both", {"bidirectional": True}),
            ("first", {"batch_first": True, "bidirectional": True}),
            ("stacked", {"num_layers": 2}),
        )
    }
    state = {"x": torch.randn(7, 2, 8), "h": torch.randn(1, 2, 12)}
    ends = torch.tensor([[0, 1, 2, 3, 3], [1, 2, 2, 0, 1]])
    image = {"x": torch.randn(2, 4, 12, 12)}
    generator = nn.Sequential(
        nn.ConvTranspose2d(16, 8, 4),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 3, 4, 2, 1),
        nn.Tanh(),
    )
    style = nn.Sequential(
        nn.ReflectionPad2d(2),
        nn.Conv2d(3, 8, 5),
        nn.InstanceNorm2d(8, affine=True),
        nn.PReLU(8),
        nn.PixelShuffle(2),
    )
    found.update(
        torch_gru_given=lambda: (Recurrent("GRU", given=True), state),
        torch_graph=lambda: (Graph(), {"x": torch.randn(4, 8), "ends": ends}),
        torch_pyramid=lambda: (Pyramid(), {"x": torch.randn(2, 3, 32, 32)}),
        torch_written=lambda: (Written(), image),
        torch_generator=lambda: (generator, {"input": torch.randn(2, 16, 1, 1)}),
        torch_style=lambda: (style, {"input": torch.randn(2, 3, 16, 16)}),
    )
    for mode in ("bilinear", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            given = {"x": torch.randn(2, 3, 12, 12)}
            found[f"torch_sampled_{mode}_{padding}"] = lambda m=mode, p=padding, g=given: (
                Transformed(m, p),
                g,
            )
    return found


def further() -> dict[str, Callable[[], Made]]:
    """Return what makes each of these models."""
    return {
        **plain(),
        **{name: lambda row=row: language(*row) for name, row in LANGUAGE.items()},
        **{name: lambda row=row: vision(*row) for name, row in VISION.items()},
        **{
            name.lower(): lambda name=name: _sound(name)
            for name in ("WavLM", "UniSpeech", "Data2VecAudio", "SEW")
        },
        "detr": _detr,
        "sam": _sam,
        "siglip_both": _siglip,
        "segformer_segments": _segmented,
        "ast": _spectrogram,
    }
