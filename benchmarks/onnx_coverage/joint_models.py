"""Further models of transformers for ``write_models.py``: images with text, sound, speech and time series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from more_models import BASE, CAUSAL, IMAGES, SOUND, Made, tokens
from text_models import PAIR, model

TEXT = {**BASE, "eos_token_id": 96, "pad_token_id": 0, "bos_token_id": 1}
SPEECH = {k: v for k, v in SOUND.items() if k not in ("num_feat_extract_layers",)}


def _pixels(size: int = 32) -> dict[str, Any]:
    return {"pixel_values": torch.randn(2, 3, size, size)}


def _both(name: str, **more: Any) -> Made:
    """Return two towers, of text and of images."""
    config = {"text_config": TEXT, "vision_config": IMAGES, "projection_dim": 16, **more}
    return model(name, config, {"input_ids": tokens(), **_pixels()})


def _align() -> Made:
    vision = {
        "image_size": 64,
        "width_coefficient": 0.2,
        "depth_coefficient": 0.2,
        "hidden_dim": 64,
    }
    config = {"text_config": BASE, "vision_config": vision, "projection_dim": 64}
    return model("AlignModel", config, {"input_ids": tokens(), **_pixels(64)})


def _clipseg() -> Made:
    config = {
        "text_config": TEXT,
        "vision_config": IMAGES,
        "projection_dim": 16,
        "extract_layers": [0, 1],
        "reduce_dim": 8,
        "decoder_num_attention_heads": 2,
        "decoder_intermediate_size": 16,
    }
    return model("CLIPSegForImageSegmentation", config, {"input_ids": tokens(), **_pixels()})


def _groupvit() -> Made:
    vision = {
        **IMAGES,
        "depths": [1, 1],
        "num_group_tokens": [4, 0],
        "num_output_groups": [4, 4],
        "num_hidden_layers": 2,
    }
    config = {
        "text_config": TEXT,
        "vision_config": vision,
        "projection_dim": 16,
        "projection_intermediate_dim": 24,
    }
    return model("GroupViTModel", config, {"input_ids": tokens(), **_pixels()})


def _owlvit(name: str) -> Made:
    text = {**TEXT, "max_position_embeddings": 12}
    config = {"text_config": text, "vision_config": IMAGES, "projection_dim": 32}
    return model(name, config, {"input_ids": tokens(), **_pixels()})


def _siglip2() -> Made:
    vision = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "patch_size": 4,
        "num_patches": 16,
    }
    config = {"text_config": {**TEXT, "projection_size": 32}, "vision_config": vision}
    inputs = {
        "input_ids": tokens(),
        "pixel_values": torch.randn(2, 16, 48),
        "pixel_attention_mask": torch.ones(2, 16, dtype=torch.int64),
        "spatial_shapes": torch.tensor([[4, 4], [4, 4]]),
    }
    return model("Siglip2Model", config, inputs)


def _vilt() -> Made:
    config = {**BASE, **IMAGES, "max_image_length": -1}
    return model("ViltModel", config, {"input_ids": tokens(), **_pixels()})


def _flava() -> Made:
    parts = {k: v for k, v in IMAGES.items() if k not in ("image_size", "patch_size")}
    config = {
        "image_config": {**IMAGES, "mask_token": True},
        "text_config": {**BASE},
        "multimodal_config": parts,
        "hidden_size": 32,
        "projection_dim": 16,
    }
    mask = torch.ones(2, 12, dtype=torch.int64)
    return model("FlavaModel", config, {"input_ids": tokens(), **_pixels(), "attention_mask": mask})


def _bridgetower() -> Made:
    config = {
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "text_config": {**BASE, "hidden_size": 64},
        "vision_config": {"hidden_size": 64, "num_hidden_layers": 2, "patch_size": 8, "image_size": 32},
    }
    mask = torch.ones(2, 12, dtype=torch.int64)
    return model("BridgeTowerModel", config, {"input_ids": tokens(), "attention_mask": mask, **_pixels()})


def _visual_bert() -> Made:
    config = {**BASE, "visual_embedding_dim": 16}
    inputs = {
        "input_ids": tokens(),
        "attention_mask": torch.ones(2, 12, dtype=torch.int64),
        "visual_embeds": torch.randn(2, 5, 16),
        "visual_attention_mask": torch.ones(2, 5, dtype=torch.int64),
    }
    return model("VisualBertModel", config, inputs)


def _lxmert() -> Made:
    config = {**BASE, "l_layers": 1, "x_layers": 1, "r_layers": 1, "visual_feat_dim": 16}
    inputs = {
        "input_ids": tokens(),
        "visual_feats": torch.randn(2, 5, 16),
        "visual_pos": torch.rand(2, 5, 4),
    }
    return model("LxmertModel", config, inputs)


def _git() -> Made:
    config = {**BASE, "vision_config": IMAGES, "pad_token_id": 0}
    return model("GitModel", config, {"input_ids": tokens(), **_pixels()})


def _llava(name: str, **more: Any) -> Made:
    """Return a language model that reads an image where a text has marks for it."""
    config = {
        "vision_config": {**IMAGES, "model_type": "clip_vision_model"},
        "text_config": {**CAUSAL, "model_type": "llama"},
        "image_token_index": 96,
        "image_seq_length": 16,
        **more,
    }
    ids = torch.randint(3, 96, (2, 24))
    ids[:, 2:18] = 96
    return model(name, config, {"input_ids": ids, **_pixels()})


def _xclip() -> Made:
    vision = {
        **IMAGES,
        "mit_hidden_size": 32,
        "mit_intermediate_size": 48,
        "mit_num_hidden_layers": 1,
        "mit_num_attention_heads": 4,
        "num_frames": 4,
    }
    config = {
        "text_config": TEXT,
        "vision_config": vision,
        "projection_dim": 32,
        "prompt_layers": 1,
        "prompt_num_attention_heads": 4,
    }
    inputs = {"input_ids": tokens(), "pixel_values": torch.randn(2, 4, 3, 32, 32)}
    return model("XCLIPModel", config, inputs)


def _pix2struct() -> Made:
    config = {
        "text_config": {
            "hidden_size": 32,
            "d_kv": 8,
            "d_ff": 48,
            "num_layers": 2,
            "num_heads": 4,
            "vocab_size": 97,
        },
        "vision_config": {
            "hidden_size": 32,
            "patch_embed_hidden_size": 48,
            "d_ff": 48,
            "d_kv": 8,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "seq_len": 16,
        },
    }
    places = torch.stack(torch.meshgrid(torch.arange(1.0, 5), torch.arange(1.0, 5), indexing="ij"), -1)
    patches = torch.cat([places.reshape(1, 16, 2).expand(2, -1, -1), torch.randn(2, 16, 48)], -1)
    inputs = {"flattened_patches": patches, "decoder_input_ids": tokens(7)}
    return model("Pix2StructForConditionalGeneration", config, inputs)


def _captioner() -> Made:
    import transformers as t

    encoder = t.ViTConfig(**IMAGES)
    decoder = t.GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=97, n_positions=64, add_cross_attention=True
    )
    config = t.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder.use_cache = False
    made = t.VisionEncoderDecoderModel(config=config)
    return made, {**_pixels(), "decoder_input_ids": tokens(7)}


def _sound(name: str, **more: Any) -> Made:
    return model(name, {**SOUND, **more}, {"input_values": torch.randn(2, 800)})


def _features(name: str, bins: int, config: dict[str, Any], key: str = "input_features") -> Made:
    return model(name, config, {key: torch.randn(2, 40, bins)})


def _speech_to_text() -> Made:
    config = {
        **PAIR,
        "max_source_positions": 40,
        "max_target_positions": 20,
        "conv_channels": 16,
        "input_feat_per_channel": 8,
    }
    inputs = {"input_features": torch.randn(2, 40, 8), "decoder_input_ids": tokens(7)}
    return model("Speech2TextModel", config, inputs)


def _moonshine() -> Made:
    config = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "encoder_num_hidden_layers": 2,
        "decoder_num_hidden_layers": 2,
        "encoder_num_attention_heads": 4,
        "decoder_num_attention_heads": 4,
        "vocab_size": 97,
    }
    return model(
        "MoonshineModel", config, {"input_values": torch.randn(2, 2400), "decoder_input_ids": tokens(7)}
    )


def _speecht5() -> Made:
    more = {k: v for k, v in PAIR.items() if k not in ("d_model", "max_position_embeddings")}
    config = {**SPEECH, **more, "hidden_size": 32, "num_mel_bins": 8}
    inputs = {"input_values": torch.randn(2, 800), "decoder_input_ids": tokens(7)}
    return model("SpeechT5ForSpeechToText", config, inputs)


def _vocoder() -> Made:
    config = {
        "model_in_dim": 8,
        "upsample_initial_channel": 16,
        "upsample_rates": [2, 2],
        "upsample_kernel_sizes": [4, 4],
        "resblock_kernel_sizes": [3],
        "resblock_dilation_sizes": [[1, 3]],
        "normalize_before": False,
    }
    return model("SpeechT5HifiGan", config, {"spectrogram": torch.randn(2, 10, 8)})


def _codec(name: str, **config: Any) -> Made:
    return model(name, config, {"input_values": torch.randn(2, 1, 640)})


def _clap() -> Made:
    audio = {
        "window_size": 4,
        "num_mel_bins": 16,
        "spec_size": 64,
        "patch_embeds_hidden_size": 8,
        "hidden_size": 16,
        "depths": [1, 1],
        "num_attention_heads": [2, 2],
        "num_hidden_layers": 2,
        "projection_dim": 16,
    }
    config = {"text_config": {**BASE, "projection_dim": 16}, "audio_config": audio, "projection_dim": 16}
    inputs = {"input_ids": tokens(), "input_features": torch.randn(2, 1, 256, 16)}
    return model("ClapModel", config, inputs)


def _series(name: str, config: dict[str, Any]) -> Made:
    return model(name, config, {"past_values": torch.randn(2, 32, 3)})


def _forecast(name: str, **more: Any) -> Made:
    config = {
        "prediction_length": 6,
        "context_length": 12,
        "lags_sequence": [1, 2, 3],
        "num_time_features": 2,
        "d_model": 16,
        "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24,
        **more,
    }
    inputs = {
        "past_values": torch.randn(2, 15),
        "past_time_features": torch.randn(2, 15, 2),
        "past_observed_mask": torch.ones(2, 15),
        "future_values": torch.randn(2, 6),
        "future_time_features": torch.randn(2, 6, 2),
    }
    return model(name, config, inputs)


def _decisions() -> Made:
    config = {
        "state_dim": 5,
        "act_dim": 3,
        "hidden_size": 16,
        "max_ep_len": 20,
        "n_layer": 2,
        "n_head": 2,
        "n_positions": 64,
    }
    inputs = {
        "states": torch.randn(2, 6, 5),
        "actions": torch.randn(2, 6, 3),
        "rewards": torch.randn(2, 6, 1),
        "returns_to_go": torch.randn(2, 6, 1),
        "timesteps": torch.arange(6).expand(2, -1).contiguous(),
        "attention_mask": torch.ones(2, 6, dtype=torch.int64),
    }
    return model("DecisionTransformerModel", config, inputs)


def joint() -> dict[str, Callable[[], Made]]:
    """Return what makes each of these models."""
    patches = {"context_length": 32, "num_input_channels": 3, "patch_length": 8, "patch_stride": 8}
    conformer = {**SPEECH, "conv_depthwise_kernel_size": 5, "max_source_positions": 100}
    mels = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "conv_depthwise_kernel_size": 5,
        "feature_projection_input_dim": 16,
    }
    found: dict[str, Callable[[], Made]] = {
        "align": _align,
        "altclip": lambda: _both("AltCLIPModel", text_config={**TEXT, "project_dim": 16}, projection_dim=16),
        "aimv2_both": lambda: _both("Aimv2Model"),
        "autoformer": lambda: _forecast("AutoformerModel", label_length=3, moving_average=5),
        "blip": lambda: _both("BlipModel", text_config={**TEXT, "encoder_hidden_size": 32}),
        "bridgetower": _bridgetower,
        "captioner": _captioner,
        "chinese_clip": lambda: _both("ChineseCLIPModel"),
        "clap": _clap,
        "clipseg": _clipseg,
        "dac": lambda: _codec(
            "DacModel",
            encoder_hidden_size=8,
            decoder_hidden_size=16,
            downsampling_ratios=[2, 4],
            upsampling_ratios=[4, 2],
            n_codebooks=2,
            codebook_size=16,
            codebook_dim=4,
        ),
        "decision_transformer": _decisions,
        "encodec": lambda: _codec(
            "EncodecModel", hidden_size=16, num_filters=4, codebook_size=16, upsampling_ratios=[4, 2]
        ),
        "flava": _flava,
        "git": _git,
        "groupvit": _groupvit,
        "hubert_labels": lambda: _sound("HubertForCTC"),
        "informer": lambda: _forecast("InformerModel"),
        "llava": lambda: _llava("LlavaModel"),
        "llava_scores": lambda: _llava("LlavaForConditionalGeneration", vision_feature_layer=-1),
        "lxmert": _lxmert,
        "metaclip_2": lambda: _both("MetaClip2Model"),
        "mimi": lambda: _codec(
            "MimiModel",
            hidden_size=16,
            num_filters=4,
            upsampling_ratios=[4, 2],
            codebook_size=16,
            codebook_dim=8,
            num_quantizers=3,
            vector_quantization_hidden_dimension=8,
            upsample_groups=16,
            num_hidden_layers=1,
            intermediate_size=24,
            num_attention_heads=2,
            num_key_value_heads=2,
            sliding_window=8,
        ),
        "moonshine": _moonshine,
        "owlv2_boxes": lambda: _owlvit("Owlv2ForObjectDetection"),
        "owlvit": lambda: _owlvit("OwlViTModel"),
        "parakeet": lambda: model(
            "ParakeetEncoder",
            {
                "hidden_size": 32,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "intermediate_size": 48,
                "subsampling_conv_channels": 8,
                "num_mel_bins": 16,
            },
            {"input_features": torch.randn(2, 40, 16)},
        ),
        "patchtsmixer": lambda: _series("PatchTSMixerForPrediction", patches),
        "patchtst": lambda: _series(
            "PatchTSTModel", {**patches, "d_model": 16, "ffn_dim": 24, "do_mask_input": False}
        ),
        "pix2struct": _pix2struct,
        "sew_d": lambda: _sound("SEWDModel", squeeze_factor=1, position_buckets=16),
        "siglip2": _siglip2,
        "speech_to_text": _speech_to_text,
        "speecht5": _speecht5,
        "speecht5_vocoder": _vocoder,
        "time_series_transformer": lambda: _forecast("TimeSeriesTransformerModel"),
        "trocr": lambda: model(
            "TrOCRForCausalLM",
            {
                "d_model": 32,
                "decoder_layers": 2,
                "decoder_attention_heads": 4,
                "decoder_ffn_dim": 48,
                "vocab_size": 97,
                "max_position_embeddings": 64,
            },
            {"input_ids": tokens()},
        ),
        "unispeech_sat": lambda: _sound("UniSpeechSatModel"),
        "vilt": _vilt,
        "visual_bert": _visual_bert,
        "wav2vec2_bert": lambda: _features("Wav2Vec2BertModel", 16, mels),
        "wav2vec2_choice": lambda: _sound("Wav2Vec2ForSequenceClassification"),
        "wav2vec2_conformer": lambda: model(
            "Wav2Vec2ConformerModel", conformer, {"input_values": torch.randn(2, 800)}
        ),
        "wav2vec2_labels": lambda: _sound("Wav2Vec2ForCTC", do_stable_layer_norm=True),
        "wav2vec2_rotary": lambda: model(
            "Wav2Vec2ConformerModel",
            {**conformer, "position_embeddings_type": "rotary"},
            {"input_values": torch.randn(2, 800)},
        ),
        "xclip": _xclip,
    }
    return found
