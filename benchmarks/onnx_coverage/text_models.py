"""Further models of transformers over text for ``write_models.py``: encoders, decoders, both, and their heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from more_models import BASE, CAUSAL, GPT, Made, tokens

HEADED = {**BASE, "num_labels": 3}
GATED = {**CAUSAL, "head_dim": 8}
EXPERTS = {
    **GATED,
    "num_local_experts": 4,
    "num_experts": 4,
    "n_routed_experts": 4,
    "moe_num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_k": 2,
    "moe_topk": 2,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 24,
    "shared_intermediate_size": 24,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
}
"""Mixtures of experts name the same sizes differently; each takes those that it knows."""
LATENT = {
    **EXPERTS,
    "num_key_value_heads": 4,
    "kv_lora_rank": 16,
    "q_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
}
STATES = {
    **CAUSAL,
    "mamba_n_heads": 4,
    "mamba_d_head": 16,
    "mamba_d_state": 8,
    "mamba_n_groups": 1,
    "mamba_chunk_size": 8,
    "mamba_d_ssm": 64,
    "n_mamba_heads": 2,
    "use_mamba_kernels": False,
}
DELTA = {
    **EXPERTS,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"],
}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 97}
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
    "forced_eos_token_id": None,
}
ENCODERS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "bert_generation": ("BertGenerationEncoder", BASE),
    "data2vec_text": ("Data2VecTextModel", BASE),
    "dpr": ("DPRQuestionEncoder", BASE),
    "eurobert": ("EuroBertModel", GATED),
    "flaubert": ("FlaubertModel", {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "vocab_size": 97}),
    "gte": ("GteModel", BASE),
    "jina": ("JinaEmbeddingsV3Model", BASE),
    "luke": ("LukeModel", {**BASE, "entity_vocab_size": 11, "entity_emb_size": 16}),
    "markuplm": ("MarkupLMModel", {**BASE, "max_depth": 4}),
    "mra": ("MraModel", BASE),
    "nomic_bert": ("NomicBertModel", BASE),
    "roberta_prelayernorm": ("RobertaPreLayerNormModel", BASE),
    "roc_bert": (
        "RoCBertModel",
        {
            **BASE,
            "pronunciation_embed_dim": 8,
            "pronunciation_vocab_size": 97,
            "shape_embed_dim": 8,
            "shape_vocab_size": 97,
        },
    ),
    "tapas": ("TapasModel", BASE),
    "xlmroberta_xl": ("XLMRobertaXLModel", BASE),
    "xmod": ("XmodModel", {**BASE, "default_language": "en_XX"}),
    "yoso": ("YosoModel", BASE),
}
DECODERS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "afmoe": ("AfmoeModel", EXPERTS),
    "apertus": ("ApertusModel", GATED),
    "arcee": ("ArceeModel", GATED),
    "bamba": ("BambaModel", {**STATES, "attn_layer_indices": [1]}),
    "biogpt": ("BioGptModel", {**BASE, "pad_token_id": 0}),
    "bitnet": ("BitNetModel", CAUSAL),
    "cohere2": ("Cohere2Model", {**GATED, "sliding_window": 6}),
    "cwm": ("CwmModel", {**GATED, "sliding_window": 6}),
    "dbrx": (
        "DbrxModel",
        {
            "d_model": 32,
            "n_heads": 4,
            "n_layers": 2,
            "max_seq_len": 64,
            "vocab_size": 97,
            "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0},
            "ffn_config": {"hidden_size": 32, "ffn_hidden_size": 24, "moe_num_experts": 4, "moe_top_k": 2},
        },
    ),
    "deepseek_v2": ("DeepseekV2Model", LATENT),
    "deepseek_v3": ("DeepseekV3Model", LATENT),
    "diffllama": ("DiffLlamaModel", CAUSAL),
    "doge": ("DogeModel", GATED),
    "dots1": ("Dots1Model", {**EXPERTS, "n_shared_experts": 1}),
    "ernie4_5": ("Ernie4_5Model", GATED),
    "ernie4_5_moe": ("Ernie4_5_MoeModel", EXPERTS),
    "exaone4": ("Exaone4Model", {**CAUSAL, "sliding_window": 6}),
    "falcon_alibi": (
        "FalconModel",
        {**BASE, "alibi": True, "new_decoder_architecture": False, "multi_query": True},
    ),
    "falcon_h1": ("FalconH1Model", STATES),
    "falcon_mamba": (
        "FalconMambaModel",
        {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "vocab_size": 97},
    ),
    "flex_olmo": ("FlexOlmoModel", EXPERTS),
    "gemma3n": (
        "Gemma3nTextModel",
        {
            **GATED,
            "num_kv_shared_layers": 0,
            "hidden_size_per_layer_input": 8,
            "vocab_size_per_layer_input": 97,
            "laurel_rank": 4,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    "gemma4": (
        "Gemma4TextModel",
        {**GATED, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 97, "global_head_dim": 8},
    ),
    "glm4": ("Glm4Model", GATED),
    "glm4_moe": ("Glm4MoeModel", EXPERTS),
    "gpt_neox_japanese": ("GPTNeoXJapaneseModel", BASE),
    "gpt_oss": ("GptOssModel", {**EXPERTS, "sliding_window": 6}),
    "granitemoe": ("GraniteMoeModel", EXPERTS),
    "granitemoehybrid": (
        "GraniteMoeHybridModel",
        {**EXPERTS, **STATES, "layer_types": ["mamba", "attention"]},
    ),
    "granitemoeshared": ("GraniteMoeSharedModel", EXPERTS),
    "helium": ("HeliumModel", GATED),
    "hunyuan": ("HunYuanDenseV1Model", GATED),
    "hunyuan_moe": ("HunYuanMoEV1Model", EXPERTS),
    "jamba": (
        "JambaModel",
        {**EXPERTS, **STATES, "attn_layer_period": 2, "attn_layer_offset": 1, "mamba_dt_rank": 4},
    ),
    "jetmoe": ("JetMoeModel", {**EXPERTS, "kv_channels": 8}),
    "lfm2": ("Lfm2Model", {**CAUSAL, "block_multiple_of": 8, "layer_types": ["conv", "full_attention"]}),
    "mamba2": (
        "Mamba2Model",
        {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "state_size": 8,
            "num_heads": 4,
            "head_dim": 16,
            "n_groups": 2,
            "chunk_size": 8,
            "vocab_size": 97,
        },
    ),
    "minicpm3": ("MiniCPM3Model", {**LATENT, "head_dim": None, "dim_model_base": 32}),
    "minimax": ("MiniMaxModel", {**EXPERTS, "block_size": 4}),
    "ministral": ("MinistralModel", {**GATED, "sliding_window": 6}),
    "modernbert_decoder": ("ModernBertDecoderModel", {**BASE, "pad_token_id": 0}),
    "nanochat": ("NanoChatModel", {**CAUSAL}),
    "nemotron": ("NemotronModel", GATED),
    "olmo3": ("Olmo3Model", {**CAUSAL, "sliding_window": 6}),
    "olmo_hybrid": ("OlmoHybridModel", {**DELTA, "linear_num_value_heads": 2}),
    "olmoe": ("OlmoeModel", EXPERTS),
    "openai_gpt": ("OpenAIGPTModel", GPT),
    "persimmon": ("PersimmonModel", BASE),
    "phimoe": ("PhimoeModel", EXPERTS),
    "qwen2_sliding": (
        "Qwen2Model",
        {**CAUSAL, "use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1},
    ),
    "qwen3_moe": ("Qwen3MoeModel", EXPERTS),
    "qwen3_next": ("Qwen3NextModel", DELTA),
    "recurrent_gemma": (
        "RecurrentGemmaModel",
        {**CAUSAL, "lru_width": 32, "attention_window_size": 8, "block_types": ["recurrent", "attention"]},
    ),
    "rwkv": (
        "RwkvModel",
        {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 97, "context_length": 64},
    ),
    "seed_oss": ("SeedOssModel", GATED),
    "solar_open": ("SolarOpenModel", EXPERTS),
    "vaultgemma": ("VaultGemmaModel", {**GATED, "sliding_window": 6}),
    "xlstm": ("xLSTMModel", {**CAUSAL, "num_heads": 4, "chunk_size": 8}),
    "youtu": ("YoutuModel", LATENT),
    "zamba": ("ZambaModel", {**STATES, "num_key_value_heads": 4, "layers_block_type": ["mamba", "hybrid"]}),
    "zamba2": (
        "Zamba2Model",
        {**STATES, "mamba_ngroups": 1, "chunk_size": 8, "layers_block_type": ["mamba", "hybrid"]},
    ),
}
UNMASKED = ("falcon_mamba", "mamba2", "rwkv", "xlstm")
PAIRS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "bart_scores": ("BartForConditionalGeneration", PAIR),
    "bigbird_pegasus": ("BigBirdPegasusModel", {**PAIR, "attention_type": "original_full"}),
    "blenderbot": ("BlenderbotModel", PAIR),
    "blenderbot_small": ("BlenderbotSmallModel", PAIR),
    "fsmt": ("FSMTModel", {**PAIR, "src_vocab_size": 97, "tgt_vocab_size": 97, "langs": ["en", "de"]}),
    "led": (
        "LEDModel",
        {
            **PAIR,
            "attention_window": 4,
            "max_encoder_position_embeddings": 64,
            "max_decoder_position_embeddings": 64,
        },
    ),
    "longt5": ("LongT5Model", {**T5, "local_radius": 4}),
    "longt5_global": (
        "LongT5Model",
        {**T5, "local_radius": 4, "encoder_attention_type": "transient-global", "global_block_size": 4},
    ),
    "m2m_100": ("M2M100Model", PAIR),
    "mt5": ("MT5Model", T5),
    "mvp": ("MvpModel", PAIR),
    "nllb_moe": (
        "NllbMoeModel",
        {
            **PAIR,
            "num_experts": 4,
            "expert_capacity": 16,
            "encoder_sparse_step": 2,
            "decoder_sparse_step": 2,
        },
    ),
    "pegasus_x": ("PegasusXModel", {**PAIR, "block_size": 4, "num_global_tokens": 4}),
    "plbart": ("PLBartModel", PAIR),
    "prophetnet": (
        "ProphetNetModel",
        {
            "hidden_size": 32,
            "encoder_ffn_dim": 48,
            "num_encoder_layers": 2,
            "num_encoder_attention_heads": 4,
            "decoder_ffn_dim": 48,
            "num_decoder_layers": 2,
            "num_decoder_attention_heads": 4,
            "vocab_size": 97,
            "max_position_embeddings": 64,
        },
    ),
    "switch_transformers": ("SwitchTransformersModel", {**T5, "num_experts": 4, "expert_capacity": 16}),
    "t5_scores": ("T5ForConditionalGeneration", T5),
    "t5gemma": ("T5GemmaModel", {"encoder": GATED, "decoder": {**GATED, "cross_attention_hidden_size": 32}}),
    "umt5": ("UMT5Model", T5),
}
HEADS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "albert_choice": ("AlbertForSequenceClassification", {**HEADED, "embedding_size": 16}),
    "bert_words": ("BertForMaskedLM", BASE),
    "bloom_scores": (
        "BloomForCausalLM",
        {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 97},
    ),
    "camembert_tags": ("CamembertForTokenClassification", HEADED),
    "deberta_choice": ("DebertaV2ForSequenceClassification", {**HEADED, "relative_attention": True}),
    "distilbert_answers": (
        "DistilBertForQuestionAnswering",
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "vocab_size": 97},
    ),
    "electra_pretraining": ("ElectraForPreTraining", {**BASE, "embedding_size": 16}),
    "falcon_scores": ("FalconForCausalLM", {**BASE, "num_kv_heads": 2}),
    "funnel_words": (
        "FunnelForMaskedLM",
        {"d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 48, "block_sizes": [1, 1], "vocab_size": 97},
    ),
    "gpt2_scores": ("GPT2LMHeadModel", GPT),
    "gptneo_choice": (
        "GPTNeoForSequenceClassification",
        {
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 4,
            "vocab_size": 97,
            "max_position_embeddings": 64,
            "attention_types": [[["global", "local"], 1]],
            "pad_token_id": 0,
        },
    ),
    "llama_choice": ("LlamaForSequenceClassification", {**CAUSAL, "num_labels": 3}),
    "llama_scores": ("LlamaForCausalLM", CAUSAL),
    "mistral_tags": ("MistralForTokenClassification", {**CAUSAL, "num_labels": 3, "sliding_window": 6}),
    "mobilebert_answers": (
        "MobileBertForQuestionAnswering",
        {**BASE, "embedding_size": 16, "intra_bottleneck_size": 16},
    ),
    "modernbert_words": (
        "ModernBertForMaskedLM",
        {**BASE, "pad_token_id": 0, "global_attn_every_n_layers": 2, "local_attention": 12},
    ),
    "opt_scores": ("OPTForCausalLM", {**BASE, "ffn_dim": 48, "word_embed_proj_dim": 16}),
    "phi3_scores": ("Phi3ForCausalLM", CAUSAL),
    "roberta_choice": ("RobertaForSequenceClassification", HEADED),
    "xlnet_choice": (
        "XLNetForSequenceClassification",
        {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48, "vocab_size": 97},
    ),
}


def model(name: str, config: Mapping[str, Any], inputs: dict[str, Any]) -> Made:
    """Return a model of transformers with that configuration, and its inputs."""
    import transformers

    kind = getattr(transformers, name)
    made = kind.config_class(**config)
    made.use_cache = False
    found = kind(made)
    # Exporters have no operator for the other ways to compute mixtures of experts.
    found.set_experts_implementation("batched_mm")
    return found, inputs


def _masked() -> dict[str, Any]:
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[1, 8:] = 0
    return {"input_ids": tokens(), "attention_mask": mask}


def _alone(family: str, name: str, config: Mapping[str, Any]) -> Made:
    return model(name, config, {"input_ids": tokens()} if family in UNMASKED else _masked())


def _pair(name: str, config: Mapping[str, Any]) -> Made:
    return model(name, config, {**_masked(), "decoder_input_ids": tokens(7)})


def _boxes() -> torch.Tensor:
    corner = torch.randint(0, 40, (2, 12, 2))
    return torch.cat([corner, corner + torch.randint(1, 20, (2, 12, 2))], -1)


def _canine() -> Made:
    config = {**BASE, "num_hash_buckets": 31, "local_transformer_stride": 8, "downsampling_rate": 4}
    mask = torch.ones(2, 16, dtype=torch.int64)
    mask[1, 12:] = 0
    return model("CanineModel", config, {"input_ids": tokens(16), "attention_mask": mask})


def _perceiver() -> Made:
    config = {
        "num_latents": 6,
        "d_latents": 16,
        "d_model": 16,
        "num_self_attends_per_block": 2,
        "num_self_attention_heads": 4,
        "num_cross_attention_heads": 4,
        "vocab_size": 97,
        "max_position_embeddings": 12,
    }
    return model("PerceiverForMaskedLM", config, {"inputs": tokens()})


def _reformer() -> Made:
    config = {
        "attention_head_size": 8,
        "attn_layers": ["local", "local"],
        "axial_pos_shape": [4, 4],
        "axial_pos_embds_dim": [16, 16],
        "feed_forward_size": 48,
        "hidden_size": 32,
        "local_attn_chunk_length": 4,
        "max_position_embeddings": 16,
        "num_attention_heads": 4,
        "vocab_size": 97,
    }
    return model("ReformerModel", config, {"input_ids": tokens(16)})


def _placed(name: str, **more: Any) -> Made:
    """Return a model over words of a page, and where they stand on it."""
    config = {**BASE, "max_2d_position_embeddings": 64, **more}
    boxes = _boxes() if name != "BrosModel" else torch.rand(2, 12, 8)
    return model(name, config, {**_masked(), "bbox": boxes})


def _layoutlmv3() -> Made:
    config = {
        **BASE,
        "max_2d_position_embeddings": 64,
        "coordinate_size": 5,
        "shape_size": 6,
        "rel_pos_bins": 8,
        "max_rel_pos": 16,
        "rel_2d_pos_bins": 8,
        "max_rel_2d_pos": 16,
        "input_size": 32,
        "patch_size": 8,
    }
    inputs = {**_masked(), "bbox": _boxes(), "pixel_values": torch.randn(2, 3, 32, 32)}
    return model("LayoutLMv3Model", config, inputs)


def _cached(name: str, config: Mapping[str, Any], layers: int, heads: int) -> Made:
    """Return one step of a language model: a token, and the keys and values of all before it."""
    import transformers

    class Step(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            kind = getattr(transformers, name)
            self.model = kind(kind.config_class(**config))

        def forward(self, token: torch.Tensor, *past: torch.Tensor) -> tuple[torch.Tensor, ...]:
            cache = transformers.DynamicCache()
            for layer in range(layers):
                cache.update(past[2 * layer], past[2 * layer + 1], layer)
            found = self.model(input_ids=token, past_key_values=cache, use_cache=True)
            grown = [t for kept in found.past_key_values.layers for t in (kept.keys, kept.values)]
            return (found.logits, *grown)

    past = {
        f"{kind}{layer}": torch.randn(2, heads, 5, 8) for layer in range(layers) for kind in ("key", "value")
    }
    return Step(), {"input": torch.randint(3, 97, (2, 1)), **past}


def text() -> dict[str, Callable[[], Made]]:
    """Return what makes each of these models."""
    alone = {**ENCODERS, **DECODERS, **HEADS}
    return {
        **{name: lambda n=name, row=row: _alone(n, *row) for name, row in alone.items()},
        **{name: lambda row=row: _pair(*row) for name, row in PAIRS.items()},
        "bros": lambda: _placed("BrosModel", dim_bbox=8),
        "canine": _canine,
        "gpt2_step": lambda: _cached("GPT2LMHeadModel", GPT, 2, 4),
        "layoutlmv3": _layoutlmv3,
        "lilt": lambda: _placed("LiltModel", channel_shrink_ratio=2),
        "llama_step": lambda: _cached("LlamaForCausalLM", GATED, 2, 2),
        "perceiver": _perceiver,
        "qwen3_step": lambda: _cached("Qwen3ForCausalLM", GATED, 2, 2),
        "reformer": _reformer,
    }
