"""Models of ``transformers`` with a random configuration, given our weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import transformers

from tests.in_framework.field_libraries.exchange import Weights, serve


def load(model: Any, state: dict[str, Any]) -> Any:
    """Give a model its weights; what is not among them is tied, or a counter."""
    tensors = {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    left = [
        name
        for name in missing
        if not name.endswith(("num_batches_tracked", "decoder.weight", "decoder.bias"))
    ]
    if left or unexpected:
        raise SystemExit(f"missing {left}, unexpected {unexpected}")
    model.tie_weights()
    return model.eval()


def run(model: Any, **inputs: Any) -> Any:
    """Return the scores."""
    with torch.no_grad():
        return model(**{name: torch.from_numpy(value) for name, value in inputs.items()}).logits.numpy()


def pair(state: dict[str, Any], theirs: str, weights: Weights, ours: str) -> None:
    """Copy a weight and its bias."""
    for part in ("weight", "bias"):
        state[f"{theirs}.{part}"] = weights(f"{ours}.{part}")


def encoder_state(prefix: str, values: dict[str, Any], weights: Weights) -> dict[str, Any]:
    """Return the state of an encoder as BERT's and RoBERTa's."""
    state: dict[str, Any] = {}
    for theirs, ours in (("word", "token"), ("position", "position"), ("token_type", "segment")):
        state[f"{prefix}.embeddings.{theirs}_embeddings.weight"] = weights(f"embedding.{ours}.weight")
    pair(state, f"{prefix}.embeddings.LayerNorm", weights, "embedding.norm")
    for i in range(values["layers"]):
        theirs, ours = f"{prefix}.encoder.layer.{i}", f"layer{i + 1}"
        for name in ("query", "key", "value"):
            pair(state, f"{theirs}.attention.self.{name}", weights, f"{ours}.attention.{name}")
        pair(state, f"{theirs}.attention.output.dense", weights, f"{ours}.attention.output")
        pair(state, f"{theirs}.attention.output.LayerNorm", weights, f"{ours}.norm1")
        pair(state, f"{theirs}.intermediate.dense", weights, f"{ours}.mlp.fc1")
        pair(state, f"{theirs}.output.dense", weights, f"{ours}.mlp.fc2")
        pair(state, f"{theirs}.output.LayerNorm", weights, f"{ours}.norm2")
    return state


def encoder_sizes(values: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a configuration that BERT, RoBERTa and ViT share."""
    return {
        "hidden_size": values["width"],
        "num_hidden_layers": values["layers"],
        "num_attention_heads": values["heads"],
        "intermediate_size": values["feed_forward"],
    }


def bert(values: dict[str, Any], weights: Weights, batch: dict[str, Any]) -> Any:
    """``BertForMaskedLM``."""
    config = transformers.BertConfig(
        **encoder_sizes(values), vocab_size=values["vocabulary"], max_position_embeddings=values["positions"]
    )
    state = encoder_state("bert", values, weights)
    pair(state, "cls.predictions.transform.dense", weights, "head.dense")
    pair(state, "cls.predictions.transform.LayerNorm", weights, "head.norm")
    state["cls.predictions.bias"] = weights("head.decoder.bias")
    model = load(transformers.BertForMaskedLM(config), state)
    return run(model, input_ids=batch["token"], token_type_ids=batch["segment"])


def roberta(values: dict[str, Any], weights: Weights, batch: dict[str, Any]) -> Any:
    """``RobertaForMaskedLM``."""
    config = transformers.RobertaConfig(
        **encoder_sizes(values),
        vocab_size=values["vocabulary"],
        max_position_embeddings=values["positions"],
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        pad_token_id=1,
    )
    state = encoder_state("roberta", values, weights)
    pair(state, "lm_head.dense", weights, "head.dense")
    pair(state, "lm_head.layer_norm", weights, "head.norm")
    state["lm_head.bias"] = weights("head.decoder.bias")
    model = load(transformers.RobertaForMaskedLM(config), state)
    # Theirs counts positions past padding tokens; ours has none, so positions are given.
    tokens = batch["token"]
    positions = np.broadcast_to(np.arange(2, 2 + tokens.shape[1]), tokens.shape).copy()
    return run(model, input_ids=tokens, position_ids=positions)


def gpt2(values: dict[str, Any], weights: Weights, batch: dict[str, Any]) -> Any:
    """``GPT2LMHeadModel``, whose weights are ``(in, out)``."""
    config = transformers.GPT2Config(
        n_embd=values["width"],
        n_layer=values["layers"],
        n_head=values["heads"],
        n_inner=values["feed_forward"],
        vocab_size=values["vocabulary"],
        n_positions=values["positions"],
        bos_token_id=0,
        eos_token_id=0,
    )
    state = {
        "transformer.wte.weight": weights("embedding.token.weight"),
        "transformer.wpe.weight": weights("embedding.position.weight"),
    }
    state["lm_head.weight"] = state["transformer.wte.weight"]
    pair(state, "transformer.ln_f", weights, "norm")
    for i in range(values["layers"]):
        theirs, ours = f"transformer.h.{i}", f"layer{i + 1}"
        pair(state, f"{theirs}.ln_1", weights, f"{ours}.norm1")
        pair(state, f"{theirs}.ln_2", weights, f"{ours}.norm2")
        for their_name, our_name in (
            ("attn.c_attn", "attention.qkv"),
            ("attn.c_proj", "attention.output"),
            ("mlp.c_fc", "mlp.fc1"),
            ("mlp.c_proj", "mlp.fc2"),
        ):
            state[f"{theirs}.{their_name}.weight"] = weights(f"{ours}.{our_name}.weight").T
            state[f"{theirs}.{their_name}.bias"] = weights(f"{ours}.{our_name}.bias")
    return run(load(transformers.GPT2LMHeadModel(config), state), input_ids=batch["token"])


def llama(values: dict[str, Any], weights: Weights, batch: dict[str, Any]) -> Any:
    """``LlamaForCausalLM``, which computes its own rotations."""
    config = transformers.LlamaConfig(
        **encoder_sizes(values),
        num_key_value_heads=values["kv_heads"],
        vocab_size=values["vocabulary"],
        rms_norm_eps=1e-5,
        rope_theta=10000.0,
        tie_word_embeddings=False,
    )
    weights("rotary.cosine"), weights("rotary.sine")
    state = {
        "model.embed_tokens.weight": weights("embedding.weight"),
        "model.norm.weight": weights("norm.weight"),
        "lm_head.weight": weights("head.weight"),
    }
    for i in range(values["layers"]):
        theirs, ours = f"model.layers.{i}", f"layer{i + 1}"
        for their_name, our_name in (
            ("self_attn.q_proj", "attention.query"),
            ("self_attn.k_proj", "attention.key"),
            ("self_attn.v_proj", "attention.value"),
            ("self_attn.o_proj", "attention.output"),
            ("mlp.gate_proj", "mlp.gate"),
            ("mlp.up_proj", "mlp.up"),
            ("mlp.down_proj", "mlp.down"),
            ("input_layernorm", "norm1"),
            ("post_attention_layernorm", "norm2"),
        ):
            state[f"{theirs}.{their_name}.weight"] = weights(f"{ours}.{our_name}.weight")
    return run(load(transformers.LlamaForCausalLM(config), state), input_ids=batch["token"])


def vit(values: dict[str, Any], weights: Weights, batch: dict[str, Any]) -> Any:
    """``ViTForImageClassification``; DeiT without its distillation token is the same network."""
    config = transformers.ViTConfig(
        **encoder_sizes(values),
        image_size=values["image_size"],
        patch_size=values["patch"],
        num_labels=values["classes"],
        layer_norm_eps=values["epsilon"],
    )
    state = {
        "vit.embeddings.cls_token": weights("embedding.class"),
        "vit.embeddings.position_embeddings": weights("embedding.position")[None],
    }
    pair(state, "vit.embeddings.patch_embeddings.projection", weights, "embedding.patch")
    pair(state, "vit.layernorm", weights, "norm")
    pair(state, "classifier", weights, "classifier")
    for i in range(values["layers"]):
        theirs, ours = f"vit.layers.{i}", f"layer{i + 1}"
        for part in ("weight", "bias"):
            thirds = np.split(weights(f"{ours}.attention.qkv.{part}"), 3)
            for name, third in zip("qkv", thirds):
                state[f"{theirs}.attention.{name}_proj.{part}"] = third
        pair(state, f"{theirs}.attention.o_proj", weights, f"{ours}.attention.output")
        pair(state, f"{theirs}.layernorm_before", weights, f"{ours}.norm1")
        pair(state, f"{theirs}.layernorm_after", weights, f"{ours}.norm2")
        pair(state, f"{theirs}.mlp.fc1", weights, f"{ours}.mlp.fc1")
        pair(state, f"{theirs}.mlp.fc2", weights, f"{ours}.mlp.fc2")
    return run(load(transformers.ViTForImageClassification(config), state), pixel_values=batch["image"])


def normalized(state: dict[str, Any], theirs: str, weights: Weights, convolution: str, norm: str) -> None:
    """Copy a convolution and the batch normalization after it."""
    state[f"{theirs}.convolution.weight"] = weights(f"{convolution}.weight")
    for part in ("weight", "bias", "running_mean", "running_var"):
        state[f"{theirs}.normalization.{part}"] = weights(f"{norm}.{part}")


def resnet(values: dict[str, Any], weights: Weights, batch: dict[str, Any]) -> Any:
    """``ResNetForImageClassification`` with the stride in the 3x3."""
    convolutions = {"basic": 2, "bottleneck": 3}[values["block"]]
    config = transformers.ResNetConfig(
        embedding_size=values["stem"],
        hidden_sizes=values["filters"],
        depths=values["depths"],
        layer_type=values["block"],
        num_labels=values["classes"],
        downsample_in_bottleneck=False,
    )
    state: dict[str, Any] = {}
    normalized(state, "resnet.embedder.embedder", weights, "stem.conv", "stem.bn")
    pair(state, "classifier.1", weights, "classifier")
    model = transformers.ResNetForImageClassification(config)
    shortcuts = {name for name in model.state_dict() if name.endswith("shortcut.convolution.weight")}
    for stage, blocks in enumerate(values["depths"]):
        for block in range(blocks):
            theirs = f"resnet.encoder.stages.{stage}.layers.{block}"
            ours = f"stage{stage + 1}.block{block + 1}"
            for i in range(convolutions):
                normalized(state, f"{theirs}.layer.{i}", weights, f"{ours}.conv{i + 1}", f"{ours}.bn{i + 1}")
            if f"{theirs}.shortcut.convolution.weight" in shortcuts:
                normalized(
                    state, f"{theirs}.shortcut", weights, f"{ours}.shortcut.conv", f"{ours}.shortcut.bn"
                )
    return run(load(model, state), pixel_values=batch["image"])


serve({"bert": bert, "roberta": roberta, "gpt2": gpt2, "llama": llama, "vit": vit, "resnet": resnet})
