"""Write a model that is small enough for two CPU cores: the configuration of a two-layer Llama, whose weights the
engine draws at random, and a tokenizer that knows a thousand words, w0 to w999. Nothing is downloaded.

    python model.py DIR
"""

import json
import pathlib
import sys

from tokenizers import Tokenizer, models, pre_tokenizers

SPECIAL = ["<unk>", "<s>", "</s>"]
WORDS = 1000

directory = pathlib.Path(sys.argv[1])
directory.mkdir(parents=True, exist_ok=True)


def write(name, content):
    (directory / name).write_text(json.dumps(content, indent=2) + "\n")


vocabulary = {word: i for i, word in enumerate(SPECIAL + [f"w{i}" for i in range(WORDS)])}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer.save(str(directory / "tokenizer.json"))
write(
    "tokenizer_config.json",
    {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": "<unk>",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "model_max_length": 4096,
    },
)
write(
    "config.json",
    {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": 1024,  # the words, rounded up; what the tokenizer does not know decodes to nothing
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 64,
        "hidden_act": "silu",
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "dtype": "float32",
    },
)
