"""Tiny models of transformers and timm with fixed weights: prints the output, loss and gradients of each as JSON.

`python tests/clients/programs/models.py` where PyTorch is installed prints what models.json has.
"""

import json
import zlib

import numpy as np
import timm
import torch
import transformers as T

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 99}
GROUPED = {**SIZES, "num_key_value_heads": 2, "max_position_embeddings": 64}
BOTH = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "vocab_size": 99}  # fmt: skip
VISION = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
          "image_size": 32, "patch_size": 8}  # fmt: skip
STAGES = {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}
AUDIO = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
         "conv_dim": (16, 16, 16), "conv_stride": (4, 2, 2), "conv_kernel": (8, 3, 3), "num_conv_pos_embeddings": 16,
         "num_conv_pos_embedding_groups": 2, "num_feat_extract_layers": 3, "mask_time_prob": 0.0}  # fmt: skip
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99, "n_positions": 64}

#: The prefix of configuration and model, the rest of the model's name, the settings.
LANGUAGE = [
    ("Bert", "ForMaskedLM", SIZES), ("Roberta", "ForMaskedLM", SIZES), ("Electra", "ForMaskedLM", SIZES),
    ("Albert", "ForMaskedLM", {**SIZES, "embedding_size": 16}), ("MPNet", "ForMaskedLM", SIZES),
    ("DistilBert", "ForMaskedLM", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "vocab_size": 99}),
    ("DebertaV2", "ForMaskedLM", {**SIZES, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    ("GPT2", "LMHeadModel", GPT), ("GPTNeoX", "ForCausalLM", {**SIZES, "max_position_embeddings": 64}),
    ("OPT", "ForCausalLM", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 48,
                            "vocab_size": 99, "word_embed_proj_dim": 32, "max_position_embeddings": 64}),
    ("Llama", "ForCausalLM", GROUPED), ("Mistral", "ForCausalLM", {**GROUPED, "sliding_window": 4}),
    ("Qwen2", "ForCausalLM", GROUPED), ("Qwen3", "ForCausalLM", {**GROUPED, "head_dim": 8}),
    ("Gemma", "ForCausalLM", {**GROUPED, "head_dim": 8}), ("Phi", "ForCausalLM", GROUPED),
    ("Bloom", "ForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99}),
    ("Mamba", "ForCausalLM", {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 99, "state_size": 8}),
    ("Mixtral", "ForCausalLM", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2}),
    ("T5", "ForConditionalGeneration", {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4,
                                        "vocab_size": 99, "decoder_start_token_id": 0}),
    ("Bart", "ForConditionalGeneration", {**BOTH, "max_position_embeddings": 64}),
]  # fmt: skip
IMAGES = [
    ("ViT", VISION), ("DeiT", VISION), ("Beit", VISION), ("SiglipVision", VISION), ("ConvNext", STAGES),
    ("Dinov2", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32,
                "patch_size": 8}),
    ("Swin", {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4],
              "window_size": 4}),
    ("ResNet", {**STAGES, "embedding_size": 8}), ("Segformer", {**STAGES, "num_attention_heads": [1, 2, 2, 4]}),
]  # fmt: skip
TIMM = ["resnet18", "vit_tiny_patch16_224", "convnext_atto", "mobilenetv3_small_050", "efficientnet_b0", "regnetx_002"]


def numbers(seed, *shape):
    """Returns the same random numbers in every library."""
    return torch.from_numpy(np.random.RandomState(seed).randn(*shape).astype("float32"))


def cases():
    """Yields the name, the model and the inputs of each case."""
    words = torch.from_numpy(np.random.RandomState(0).randint(3, 90, (2, 12)))
    for name, kind, settings in LANGUAGE:
        config = getattr(T, f"{name}Config")(pad_token_id=0, bos_token_id=1, eos_token_id=2, **settings)
        yield name, getattr(T, name + kind)(config), {"input_ids": words, "labels": words}
    for name, settings in IMAGES:
        size = settings.get("image_size", 64)
        yield (
            name,
            getattr(T, f"{name}Model")(getattr(T, f"{name}Config")(**settings)),
            {"pixel_values": numbers(1, 2, 3, size, size)},
        )
    whisper = T.WhisperConfig(**BOTH, num_mel_bins=16, max_source_positions=30, max_target_positions=40, pad_token_id=0,
                              bos_token_id=1, eos_token_id=2, decoder_start_token_id=3)  # fmt: skip
    yield (
        "Whisper",
        T.WhisperForConditionalGeneration(whisper),
        {"input_features": numbers(2, 2, 16, 60), "labels": words},
    )
    yield "Wav2Vec2", T.Wav2Vec2Model(T.Wav2Vec2Config(**AUDIO)), {"input_values": numbers(3, 2, 800)}
    for name in TIMM:
        options = {"img_size": 64} if name.startswith("vit") else {}
        yield f"timm {name}", timm.create_model(name, num_classes=10, **options), {"x": numbers(4, 2, 3, 64, 64)}


def fill(model):
    """Gives parameters numbers that depend on their names alone."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = 0.3 / max(parameter[0].numel(), 1) ** 0.5 if parameter.ndim > 1 else 0.02
            parameter.copy_(numbers(zlib.crc32(name.encode()), *parameter.shape) * scale + (parameter.ndim == 1))


def measured(model, inputs):
    """Returns a sum of the output, the loss, and the norm of all gradients."""
    fill(model)
    model.eval()
    result = model(inputs["x"]) if "x" in inputs else model(**inputs)
    output = result if isinstance(result, torch.Tensor) else result["logits"] if "logits" in result else result[0]
    loss = result["loss"] if "labels" in inputs else (output * numbers(5, *output.shape)).mean()
    loss.backward()
    norm = sum((p.grad.double() ** 2).sum().item() for p in model.parameters() if p.grad is not None) ** 0.5
    return [output.double().sum().item(), loss.item(), norm]


if __name__ == "__main__":
    T.logging.set_verbosity_error()
    print("RESULTS", json.dumps({name: measured(model, inputs) for name, model, inputs in cases()}))
