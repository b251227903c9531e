"""Write ONNX models of random weights and small sizes as PyTorch's exporters write them, with what they return.

Run in an environment of its own, which needs nothing of benchmarker::

    uv venv models && uv pip install --python models torch torchvision transformers timm onnx onnxscript numpy
    models/bin/python write_models.py FOLDER [--only PART] [--groups text,images] [--exports dynamo-18]

Each model comes as ``FAMILY@EXPORTER-OPSET.onnx`` with ``FAMILY@EXPORTER-OPSET.npz`` beside it: the inputs by
name, and the outputs as ``output0`` and so on. What an exporter itself refuses goes to ``refused_GROUPS.json``.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from image_models import images
from joint_models import joint
from layer_models import layered, networks
from more_models import further
from text_models import text

EXPORTS = ("dynamo-18", "dynamo-20", "torchscript-14", "torchscript-17")
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 97,
    "max_position_embeddings": 64,
}
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 97, "n_positions": 64}
IMAGES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 32,
    "patch_size": 8,
}
SOUND = {
    **{k: SMALL[k] for k in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")},
    "conv_dim": (16, 16),
    "conv_kernel": (10, 3),
    "conv_stride": (5, 2),
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "vocab_size": 32,
    "num_feat_extract_layers": 2,
}
PAIR = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "vocab_size": 97,
    "max_position_embeddings": 64,
}
GROUPED = {**SMALL, "num_key_value_heads": 2}
LANGUAGE: dict[str, tuple[str, dict[str, Any], bool]] = {
    "bert": ("Bert", SMALL, True),
    "roberta": ("Roberta", SMALL, True),
    "distilbert": (
        "DistilBert",
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "vocab_size": 97},
        True,
    ),
    "albert": ("Albert", {**SMALL, "embedding_size": 16}, True),
    "electra": ("Electra", {**SMALL, "embedding_size": 16}, True),
    "mpnet": ("MPNet", SMALL, True),
    "mobilebert": ("MobileBert", {**SMALL, "embedding_size": 16, "intra_bottleneck_size": 16}, True),
    "squeezebert": ("SqueezeBert", {**SMALL, "embedding_size": 32}, True),
    "deberta": ("DebertaV2", SMALL, True),
    "layoutlm": ("LayoutLM", SMALL, True),
    "xlmroberta": ("XLMRoberta", SMALL, True),
    "modernbert": ("ModernBert", {**SMALL, "pad_token_id": 0, "global_attn_every_n_layers": 2}, True),
    "gpt2": ("GPT2", GPT, True),
    "gptneo": (
        "GPTNeo",
        {
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 4,
            "vocab_size": 97,
            "max_position_embeddings": 64,
            "attention_types": [[["global", "local"], 1]],
        },
        True,
    ),
    "gptneox": ("GPTNeoX", SMALL, True),
    "gptj": ("GPTJ", {**GPT, "rotary_dim": 4}, True),
    "opt": ("OPT", {**SMALL, "ffn_dim": 48, "word_embed_proj_dim": 32}, True),
    "bloom": ("Bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 97}, True),
    "llama": ("Llama", GROUPED, True),
    "mistral": ("Mistral", GROUPED, True),
    "qwen2": ("Qwen2", GROUPED, True),
    "qwen3": ("Qwen3", {**GROUPED, "head_dim": 8}, True),
    "gemma": ("Gemma", {**GROUPED, "head_dim": 8}, True),
    "gemma2": ("Gemma2", {**GROUPED, "head_dim": 8}, True),
    "phi": ("Phi", SMALL, True),
    "falcon": ("Falcon", {**SMALL, "num_kv_heads": 2}, True),
    "olmo": ("Olmo", GROUPED, True),
    "stablelm": ("StableLm", GROUPED, True),
}
VISION: dict[str, tuple[str, dict[str, Any]]] = {
    "vit": ("ViT", IMAGES),
    "deit": ("DeiT", IMAGES),
    "beit": ("Beit", IMAGES),
    "dinov2": ("Dinov2", {k: v for k, v in IMAGES.items() if k != "intermediate_size"}),
    "vit_mae": ("ViTMAE", IMAGES),
    "swin": (
        "Swin",
        {
            "image_size": 32,
            "patch_size": 2,
            "embed_dim": 16,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
    ),
    "convnext": ("ConvNext", {"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1], "image_size": 32}),
    "segformer": (
        "Segformer",
        {"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 2]},
    ),
    "regnet": (
        "RegNet",
        {"embedding_size": 8, "hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1], "groups_width": 8},
    ),
    "mobilevit": (
        "MobileViT",
        {
            "hidden_sizes": [16, 16, 16],
            "neck_hidden_sizes": [8, 8, 8, 16, 16, 16, 16],
            "image_size": 64,
            "num_attention_heads": 2,
        },
    ),
}
TIMM = (
    "resnet18",
    "mobilenetv3_small_050",
    "efficientnet_b0",
    "vit_tiny_patch16_224",
    "mixer_s32_224",
    "convnext_atto",
    "regnetx_002",
    "ghostnet_050",
    "tinynet_e",
    "levit_128s",
    "edgenext_xx_small",
    "poolformer_s12",
    "mobileone_s0",
    "repvgg_a0",
    "visformer_tiny",
    "densenet121",
    "swin_tiny_patch4_window7_224",
    "xcit_nano_12_p16_224",
    "mobilevit_xxs",
    "hrnet_w18_small",
)
FURTHER_TIMM = (
    "bat_resnext26ts",
    "botnet26t_256",
    "cait_xxs24_224",
    "coat_tiny",
    "coatnet_nano_rw_224",
    "convit_tiny",
    "convnextv2_atto",
    "crossvit_tiny_240",
    "dla46_c",
    "eca_halonext26ts",
    "efficientformer_l1",
    "efficientformerv2_s0",
    "efficientnet_lite0",
    "efficientvit_b0",
    "efficientvit_m0",
    "ese_vovnet19b_slim_dw",
    "eva02_tiny_patch14_224",
    "fastvit_t8",
    "fbnetc_100",
    "gcresnext26ts",
    "gcvit_xxtiny",
    "gernet_s",
    "ghostnetv2_100",
    "gmlp_s16_224",
    "halonet26t",
    "hardcorenas_a",
    "hgnetv2_b0",
    "inception_next_atto",
    "lambda_resnet26t",
    "lcnet_050",
    "mambaout_femto",
    "maxvit_rmlp_pico_rw_256",
    "mnasnet_small",
    "mobilenetv1_100",
    "mobilenetv4_conv_small",
    "mobilevitv2_050",
    "mvitv2_tiny",
    "nest_tiny_jx",
    "nf_regnet_b0",
    "pit_ti_224",
    "pvt_v2_b0",
    "repghostnet_050",
    "repvit_m0_9",
    "resmlp_12_224",
    "resnest14d",
    "rexnet_100",
    "semnasnet_075",
    "sequencer2d_s",
    "shvit_s1",
    "skresnet18",
    "starnet_s050",
    "swiftformer_xs",
    "test_byobnet",
    "test_efficientnet_evos",
    "test_nfnet",
    "test_vit3",
    "tf_efficientnetv2_b0",
    "tf_mobilenetv3_small_minimal_100",
    "tiny_vit_5m_224",
    "tnt_s_legacy_patch16_224",
    "twins_pcpvt_small",
    "vit_relpos_small_patch16_rpn_224",
    "vit_tiny_r_s16_p8_224",
    "volo_d1_224",
)


def tokens(length: int = 12) -> torch.Tensor:
    """Return token ids of two samples."""
    return torch.randint(3, 97, (2, length))


def language(name: str, config: dict[str, Any], masked: bool) -> tuple[Any, dict[str, Any]]:
    """Return a model over tokens, and its inputs."""
    import transformers

    made = getattr(transformers, f"{name}Config")(**config)
    made.use_cache = False
    model = getattr(transformers, f"{name}Model")(made)
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[1, 8:] = 0
    return model, {"input_ids": tokens(), **({"attention_mask": mask} if masked else {})}


def vision(name: str, config: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a model over images, and its input."""
    import transformers

    made = getattr(transformers, f"{name}Config")(**config)
    size = config.get("image_size", 64)
    return getattr(transformers, f"{name}Model")(made), {"pixel_values": torch.randn(2, 3, size, size)}


def others() -> dict[str, Callable[[], tuple[Any, dict[str, Any]]]]:
    """Return models over sound, of two parts, and with a head."""
    import transformers as t

    def sound(name: str) -> tuple[Any, dict[str, Any]]:
        model = getattr(t, f"{name}Model")(getattr(t, f"{name}Config")(**SOUND))
        return model, {"input_values": torch.randn(2, 800)}

    def pair(name: str) -> tuple[Any, dict[str, Any]]:
        made = getattr(t, f"{name}Config")(**PAIR, use_cache=False, forced_eos_token_id=None)
        return getattr(t, f"{name}Model")(made), {"input_ids": tokens(), "decoder_input_ids": tokens(7)}

    def t5() -> tuple[Any, dict[str, Any]]:
        made = t.T5Config(
            d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=97, use_cache=False
        )
        return t.T5Model(made), {"input_ids": tokens(), "decoder_input_ids": tokens(7)}

    def clip() -> tuple[Any, dict[str, Any]]:
        made = t.CLIPConfig(
            text_config={**SMALL, "eos_token_id": 96}, vision_config=IMAGES, projection_dim=16
        )
        inputs = {"input_ids": tokens(), "pixel_values": torch.randn(2, 3, 32, 32)}
        return t.CLIPModel(made), inputs

    def classified() -> tuple[Any, dict[str, Any]]:
        model = t.GPT2ForSequenceClassification(t.GPT2Config(**GPT, pad_token_id=0, use_cache=False))
        return model, {"input_ids": tokens()}

    def answered() -> tuple[Any, dict[str, Any]]:
        model, inputs = language("Bert", SMALL, True)
        segments = torch.ones_like(inputs["input_ids"])
        return t.BertForQuestionAnswering(model.config), {**inputs, "token_type_ids": segments}

    def whisper() -> tuple[Any, dict[str, Any]]:
        made = t.WhisperConfig(
            **{k: v for k, v in PAIR.items() if k != "max_position_embeddings"},
            num_mel_bins=8,
            max_source_positions=20,
            max_target_positions=20,
            use_cache=False,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
        )
        return t.WhisperModel(made), {"input_features": torch.randn(2, 8, 40), "decoder_input_ids": tokens(7)}

    return {
        **{name.lower(): lambda name=name: sound(name) for name in ("Wav2Vec2", "Hubert")},
        **{name.lower(): lambda name=name: pair(name) for name in ("Bart", "MBart", "Pegasus", "Marian")},
        "t5": t5,
        "clip": clip,
        "gpt2_classifier": classified,
        "bert_answers": answered,
        "whisper": whisper,
    }


class Sequence(torch.nn.Module):
    """Layers of PyTorch's own over a sequence of tokens."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(97, 16)
        self.layer = getattr(torch.nn, kind)(16, 16, batch_first=True)
        self.head = torch.nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return scores."""
        return self.head(self.layer(self.table(x))[0][:, -1])


class Chosen(torch.nn.Module):
    """Comparisons, masks, sorting and indices as users write them."""

    def forward(self, x: torch.Tensor, length: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return a masked mean, largest values and their places, running sums, and a one-hot choice."""
        mask = torch.arange(x.shape[1])[None] < length[:, None]
        mean = (x * mask[..., None]).sum(1) / length[:, None].clamp(min=1)
        values, places = x.topk(3, dim=1)
        chosen = torch.gather(x, 1, places)
        hot = torch.nn.functional.one_hot(x.argmax(-1), x.shape[-1]).float()
        kept = torch.where(x.abs() > 1, x.sign(), x.floor()).masked_fill(~mask[..., None], 0.0)
        return mean, values, places, chosen, x.cumsum(1), hot, kept


def plain() -> dict[str, Callable[[], tuple[Any, dict[str, Any]]]]:
    """Return models of PyTorch's own layers."""

    def transformer() -> tuple[Any, dict[str, Any]]:
        layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        return torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), {
            "src": torch.randn(2, 6, 16)
        }

    def convolutional() -> tuple[Any, dict[str, Any]]:
        nn = torch.nn
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.Hardswish(),
            nn.MaxPool2d(2),
            nn.GroupNorm(2, 8),
            nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.Flatten(),
            nn.Linear(8 * 256, 5),
            nn.LogSoftmax(-1),
        )
        return model, {"input": torch.randn(2, 3, 16, 16)}

    return {
        "torch_transformer": transformer,
        "torch_convolutional": convolutional,
        "torch_lstm": lambda: (Sequence("LSTM"), {"x": tokens()}),
        "torch_gru": lambda: (Sequence("GRU"), {"x": tokens()}),
        "torch_choices": lambda: (Chosen(), {"x": torch.randn(2, 6, 8), "length": torch.tensor([4, 6])}),
    }


VISION_OPERATORS: list[Any] = []


def declare_vision_operators() -> None:
    """Declare the operators whose library torchvision may lack, so that it can be imported.

    timm and transformers use no more than classes in Python of it, so that a build for another PyTorch does.
    """
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    VISION_OPERATORS.append(library)


def timm_models(names: tuple[str, ...]) -> dict[str, Callable[[], tuple[Any, dict[str, Any]]]]:
    """Return image models of timm."""

    def make(name: str) -> tuple[Any, dict[str, Any]]:
        import timm

        model = timm.create_model(name, num_classes=10)
        given = model.pretrained_cfg
        fixed = given.get("fixed_input_size") or "224" in name or name.startswith(("levit", "visformer"))
        size = given["input_size"][-1] if fixed else 64
        return model, {"x": torch.randn(1, 3, size, size)}

    return {f"timm_{name}": lambda name=name: make(name) for name in names}


GROUPS: dict[str, Callable[[], dict[str, Callable[[], tuple[Any, dict[str, Any]]]]]] = {
    "plain": plain,
    "language": lambda: {name: lambda row=row: language(*row) for name, row in LANGUAGE.items()},
    "vision": lambda: {name: lambda row=row: vision(*row) for name, row in VISION.items()},
    "others": others,
    "further": further,
    "timm": lambda: timm_models(TIMM),
    "text": text,
    "images": images,
    "joint": joint,
    "layers": layered,
    "torchvision": networks,
    "further_timm": lambda: timm_models(FURTHER_TIMM),
}
"""What makes each model."""


def flat(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of what a model returned."""
    if isinstance(value, torch.Tensor):
        yield value
    elif hasattr(value, "to_tuple"):
        yield from flat(value.to_tuple())
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)


class Returning(torch.nn.Module):
    """A model whose results are a flat tuple, and whose arguments are positional."""

    def __init__(self, model: torch.nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the tensors."""
        return tuple(flat(self.model(**dict(zip(self.names, given)))))


def write(family: str, model: Any, inputs: dict[str, Any], export: str, folder: Path) -> None:
    """Export a model and keep its inputs and outputs."""
    exporter, opset = export.split("-")
    named = isinstance(model, torch.nn.Sequential) or "input" in inputs
    wrapped = model if named else Returning(model, tuple(inputs))
    arguments = tuple(inputs.values())
    with torch.no_grad():
        results = list(flat(wrapped(*arguments)))
    path = folder / f"{family}@{export}.onnx"
    torch.onnx.export(
        wrapped,
        arguments,
        str(path),
        input_names=list(inputs),
        opset_version=int(opset),
        dynamo=exporter == "dynamo",
        external_data=False,
    )
    arrays = {name: value.numpy() for name, value in inputs.items()}
    np.savez(path.with_suffix(".npz"), **arrays, **{f"output{i}": y.numpy() for i, y in enumerate(results)})


def main() -> None:
    """Write all models, or those whose name holds a part."""
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--exports", default=",".join(EXPORTS))
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    declare_vision_operators()
    refused: dict[str, str] = {}
    models = {family: make for name in asked.groups.split(",") for family, make in GROUPS[name]().items()}
    for family, make in models.items():
        if asked.only not in family:
            continue
        for export in asked.exports.split(","):
            torch.manual_seed(0)
            try:
                model, inputs = make()
                write(family, model.eval(), inputs, export, asked.folder)
            except Exception as error:
                refused[f"{family}@{export}"] = (
                    f"{type(error).__name__}: {str(error).strip().splitlines()[:1]}"
                )
            print(family, export, refused.get(f"{family}@{export}", "written"), flush=True)
    target = asked.folder / f"refused_{asked.groups.replace(',', '_')}.json"
    target.write_text(json.dumps(refused, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
