"""Further models of transformers over images and videos for ``write_models.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from more_models import IMAGES, STAGES, Made
from text_models import model

LAYERS = {k: v for k, v in IMAGES.items() if k != "intermediate_size"}
WINDOWS = {
    "image_size": 32,
    "patch_size": 2,
    "embed_dim": 16,
    "depths": [2, 2],
    "num_heads": [2, 4],
    "window_size": 4,
}
RESNET = {
    "model_type": "resnet",
    "embedding_size": 8,
    "hidden_sizes": [8, 8, 16, 16],
    "depths": [1, 1, 1, 1],
}
TOWER = {
    **LAYERS,
    "model_type": "dinov2",
    "out_features": ["stage1", "stage2"],
    "reshape_hidden_states": False,
}
STEPS = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "num_queries": 6,
}
HYBRID = {
    "backbone_config": {
        "model_type": "rt_detr_resnet",
        "embedding_size": 8,
        "hidden_sizes": [8, 8, 16, 16],
        "depths": [1, 1, 1, 1],
        "layer_type": "basic",
        "out_features": ["stage2", "stage3", "stage4"],
    },
    "encoder_in_channels": [8, 16, 16],
    "encoder_hidden_dim": 32,
    "decoder_in_channels": [32, 32, 32],
    **STEPS,
    "encoder_layers": 1,
    "num_denoising": 0,
    "learn_initial_query": False,
    "anchor_image_size": None,
}
SINGLE: Mapping[str, tuple[str, dict[str, Any]]] = {
    "aimv2": ("Aimv2VisionModel", IMAGES),
    "beit_choice": ("BeitForImageClassification", {**IMAGES, "use_relative_position_bias": True}),
    "bit": ("BitModel", {"embedding_size": 8, **STAGES, "num_groups": 4}),
    "bit_padded": ("BitModel", {"embedding_size": 8, **STAGES, "num_groups": 4, "global_padding": "SAME"}),
    "clip_vision": ("CLIPVisionModel", IMAGES),
    "convnext_choice": ("ConvNextForImageClassification", STAGES),
    "deit_teacher": ("DeiTForImageClassificationWithTeacher", IMAGES),
    "dinov2_registers": ("Dinov2WithRegistersModel", LAYERS),
    "dinov3": ("DINOv3ViTModel", {**IMAGES, "num_register_tokens": 2}),
    "dinov3_convnext": ("DINOv3ConvNextModel", STAGES),
    "donut_swin": ("DonutSwinModel", WINDOWS),
    "dpt": (
        "DPTForDepthEstimation",
        {
            **IMAGES,
            "num_hidden_layers": 4,
            "backbone_out_indices": [0, 1, 2, 3],
            "neck_hidden_sizes": [8, 8, 16, 16],
            "fusion_hidden_size": 8,
        },
    ),
    "focalnet_choice": (
        "FocalNetForImageClassification",
        {
            "embed_dim": 8,
            "depths": [1, 1],
            "focal_levels": [2, 2],
            "focal_windows": [3, 3],
            "image_size": 32,
            "use_conv_embed": True,
        },
    ),
    "eomt": ("EomtForUniversalSegmentation", {**LAYERS, "num_queries": 5, "num_blocks": 1}),
    "glpn": (
        "GLPNForDepthEstimation",
        {**STAGES, "num_attention_heads": [1, 2, 2, 2], "decoder_hidden_size": 8},
    ),
    "hgnet_v2": (
        "HGNetV2ForImageClassification",
        {
            "embedding_size": 8,
            "depths": [1, 1, 1, 1],
            "hidden_sizes": [8, 16, 16, 16],
            "stem_channels": [3, 8, 8],
            "stage_in_channels": [8, 8, 16, 16],
            "stage_mid_channels": [8, 8, 8, 8],
            "stage_out_channels": [8, 16, 16, 16],
            "stage_num_blocks": [1, 1, 1, 1],
            "stage_numb_of_layers": [2, 2, 2, 2],
        },
    ),
    "hiera": (
        "HieraModel",
        {
            "embed_dim": 8,
            "image_size": [64, 64],
            "depths": [1, 1, 1],
            "num_heads": [1, 2, 4],
            "num_query_pool": 2,
            "masked_unit_size": [4, 4],
            "masked_unit_attention": [True, True, False],
        },
    ),
    "internvl_vision": ("InternVLVisionModel", {**IMAGES, "image_size": [32, 32], "patch_size": [8, 8]}),
    "levit_teacher": (
        "LevitForImageClassificationWithTeacher",
        {
            "hidden_sizes": [16, 16, 16],
            "key_dim": [4, 4, 4],
            "num_attention_heads": [2, 2, 2],
            "depths": [1, 1, 1],
            "image_size": 64,
        },
    ),
    "mask2former_swin": ("MaskFormerSwinModel", WINDOWS),
    "mlcd": ("MLCDVisionModel", IMAGES),
    "mobilenet_v2_segments": ("MobileNetV2ForSemanticSegmentation", {"depth_multiplier": 0.35}),
    "mobilevit_segments": (
        "MobileViTForSemanticSegmentation",
        {
            "hidden_sizes": [16, 16, 16],
            "neck_hidden_sizes": [8, 8, 8, 16, 16, 16, 16],
            "image_size": 64,
            "num_attention_heads": 2,
            "aspp_out_channels": 8,
        },
    ),
    "pixio": ("PixioModel", LAYERS),
    "poolformer_choice": ("PoolFormerForImageClassification", STAGES),
    "pp_lcnet": ("PPLCNetForImageClassification", {"scale": 0.25}),
    "pvt": ("PvtModel", {**STAGES, "num_attention_heads": [1, 2, 2, 2], "image_size": 64}),
    "resnet_choice": ("ResNetForImageClassification", {"embedding_size": 8, **STAGES}),
    "swin2sr": (
        "Swin2SRForImageSuperResolution",
        {"image_size": 16, "embed_dim": 12, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4},
    ),
    "swin_choice": ("SwinForImageClassification", WINDOWS),
    "swinv2_choice": ("Swinv2ForImageClassification", WINDOWS),
    "textnet": ("TextNetModel", {"stem_out_channels": 8, "hidden_sizes": [8, 8, 16, 16, 16]}),
    "vit_choice": ("ViTForImageClassification", IMAGES),
    "vitdet": (
        "VitDetModel",
        {
            **LAYERS,
            "pretrain_image_size": 32,
            "window_block_indices": [0],
            "residual_block_indices": [1],
            "window_size": 2,
            "use_relative_position_embeddings": True,
        },
    ),
    "yolos_boxes": (
        "YolosForObjectDetection",
        {**IMAGES, "image_size": [32, 32], "num_detection_tokens": 5},
    ),
    # With a backbone of its own:
    "conditional_detr": (
        "ConditionalDetrForObjectDetection",
        {**STEPS, "backbone_config": {**RESNET, "out_features": ["stage4"]}},
    ),
    "dab_detr": (
        "DabDetrForObjectDetection",
        {**STEPS, "hidden_size": 32, "backbone_config": {**RESNET, "out_features": ["stage4"]}},
    ),
    "deformable_detr": (
        "DeformableDetrForObjectDetection",
        {
            **STEPS,
            "num_feature_levels": 2,
            "encoder_n_points": 2,
            "decoder_n_points": 2,
            "backbone_config": {**RESNET, "out_features": ["stage3", "stage4"]},
        },
    ),
    "deformable_detr_two_stages": (
        "DeformableDetrForObjectDetection",
        {
            **STEPS,
            "num_feature_levels": 2,
            "two_stage": True,
            "two_stage_num_proposals": 6,
            "with_box_refine": True,
            "backbone_config": {**RESNET, "out_features": ["stage3", "stage4"]},
        },
    ),
    "d_fine": (
        "DFineForObjectDetection",
        {
            **HYBRID,
            "backbone_config": {
                "model_type": "hgnet_v2",
                "embedding_size": 8,
                "depths": [1, 1, 1, 1],
                "hidden_sizes": [8, 8, 16, 16],
                "stem_channels": [3, 8, 8],
                "stage_in_channels": [8, 8, 8, 16],
                "stage_mid_channels": [8, 8, 8, 8],
                "stage_out_channels": [8, 8, 16, 16],
                "stage_num_blocks": [1, 1, 1, 1],
                "stage_numb_of_layers": [2, 2, 2, 2],
                "out_features": ["stage2", "stage3", "stage4"],
            },
        },
    ),
    "rt_detr": ("RTDetrForObjectDetection", HYBRID),
    "rt_detr_v2": ("RTDetrV2ForObjectDetection", HYBRID),
    "table_transformer": (
        "TableTransformerForObjectDetection",
        {**STEPS, "backbone_config": {**RESNET, "out_features": ["stage4"]}},
    ),
    "depth_anything": (
        "DepthAnythingForDepthEstimation",
        {
            "backbone_config": {
                **TOWER,
                "num_hidden_layers": 4,
                "out_features": ["stage1", "stage2", "stage3", "stage4"],
            },
            "patch_size": 8,
            "reassemble_hidden_size": 32,
            "neck_hidden_sizes": [8, 8, 16, 16],
            "fusion_hidden_size": 8,
            "head_hidden_size": 4,
        },
    ),
    "mask2former": (
        "Mask2FormerForUniversalSegmentation",
        {
            "backbone_config": {
                "model_type": "swin",
                "image_size": 64,
                "embed_dim": 8,
                "depths": [1, 1, 1, 1],
                "num_heads": [1, 1, 2, 2],
                "window_size": 4,
                "out_features": ["stage1", "stage2", "stage3", "stage4"],
            },
            "feature_size": 32,
            "mask_feature_size": 32,
            "hidden_dim": 32,
            "encoder_feedforward_dim": 24,
            "encoder_layers": 1,
            "decoder_layers": 3,
            "num_attention_heads": 2,
            "dim_feedforward": 24,
            "num_queries": 5,
        },
    ),
    "maskformer": (
        "MaskFormerForInstanceSegmentation",
        {
            "backbone_config": {
                "model_type": "swin",
                "image_size": 64,
                "embed_dim": 8,
                "depths": [1, 1, 1, 1],
                "num_heads": [1, 1, 2, 2],
                "window_size": 4,
                "out_features": ["stage1", "stage2", "stage3", "stage4"],
            },
            "decoder_config": {"model_type": "detr", **STEPS},
            "fpn_feature_size": 32,
            "mask_feature_size": 32,
        },
    ),
    "upernet": (
        "UperNetForSemanticSegmentation",
        {
            "backbone_config": {
                "model_type": "convnext",
                **STAGES,
                "out_features": ["stage1", "stage2", "stage3", "stage4"],
            },
            "hidden_size": 16,
            "pool_scales": [1, 2],
            "auxiliary_channels": 8,
        },
    ),
    "vitmatte": (
        "VitMatteForImageMatting",
        {
            "backbone_config": {
                **LAYERS,
                "model_type": "vitdet",
                "num_channels": 4,
                "pretrain_image_size": 32,
                "patch_size": 16,
                "out_features": ["stage2"],
            },
            "hidden_size": 32,
            "convstream_hidden_sizes": [8, 8, 16],
            "fusion_hidden_sizes": [16, 8, 8, 4],
        },
    ),
    "vitpose": (
        "VitPoseForPoseEstimation",
        {
            "backbone_config": {
                "model_type": "vitpose_backbone",
                "image_size": [32, 32],
                "patch_size": [8, 8],
                "hidden_size": 32,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "out_features": ["stage2"],
            },
            "num_labels": 4,
            "use_simple_decoder": False,
        },
    ),
}
CHANNELS = {"vitmatte": 4}


def _size(config: Mapping[str, Any]) -> int:
    size = config.get("image_size")
    if size is None:
        size = config.get("backbone_config", {}).get("image_size", 64)
    return int(size if isinstance(size, int) else size[0])


def _single(family: str, name: str, config: dict[str, Any]) -> Made:
    size, channels = _size(config), CHANNELS.get(family, 3)
    return model(name, config, {"pixel_values": torch.randn(2, channels, size, size)})


def _video(name: str, config: dict[str, Any], key: str, frames: int) -> Made:
    return model(name, {**IMAGES, **config}, {key: torch.randn(1, frames, 3, 32, 32)})


def _letters() -> Made:
    config = {
        **LAYERS,
        "image_size": [16, 32],
        "max_token_length": 5,
        "num_character_labels": 11,
        "num_bpe_labels": 13,
        "num_wordpiece_labels": 17,
    }
    return model("MgpstrForSceneTextRecognition", config, {"pixel_values": torch.randn(2, 3, 16, 32)})


def _prompted() -> Made:
    config = {
        **LAYERS,
        "image_size": [64, 32],
        "pretrain_image_size": 32,
        "decoder_hidden_size": 8,
        "merge_index": 0,
        "intermediate_hidden_state_indices": [0, 1],
    }
    half = {k: torch.randn(2, 3, 32, 32) for k in ("pixel_values", "prompt_pixel_values", "prompt_masks")}
    return model("SegGptModel", config, half)


def _pixels() -> Made:
    config = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 98, "n_positions": 64}
    return model("ImageGPTModel", config, {"input_ids": torch.randint(0, 97, (2, 16))})


def images() -> dict[str, Callable[[], Made]]:
    """Return what makes each of these models."""
    frames = {"num_frames": 4}
    return {
        **{name: lambda n=name, row=row: _single(n, *row) for name, row in SINGLE.items()},
        "imagegpt": _pixels,
        "mgp_str": _letters,
        "seggpt": _prompted,
        "timesformer": lambda: _video("TimesformerModel", frames, "pixel_values", 4),
        "videomae": lambda: _video("VideoMAEModel", {**frames, "tubelet_size": 2}, "pixel_values", 4),
        "vivit": lambda: _video("VivitModel", {**frames, "tubelet_size": [2, 8, 8]}, "pixel_values", 4),
        "vjepa2": lambda: _video(
            "VJEPA2Model",
            {
                "crop_size": 32,
                "frames_per_clip": 4,
                "pred_hidden_size": 24,
                "pred_num_attention_heads": 2,
                "pred_num_hidden_layers": 1,
                "num_pooler_layers": 1,
            },
            "pixel_values_videos",
            4,
        ),
    }
