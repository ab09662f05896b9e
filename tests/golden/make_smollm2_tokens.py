"""Write `smollm2_tokens.json`: the ids that llama.cpp gives for every probe text.

Run from the repository root, with `xllamacpp` installed and `tests/support` on PYTHONPATH. The argument is the GGUF
file that the wheel of the default model holds.
"""

from __future__ import annotations

import json
from pathlib import Path
from sys import argv

from llama_server import llama_server, llama_tokenize
from probe_texts import probe_texts

TARGET = Path(__file__).parent / "smollm2_tokens.json"

if __name__ == "__main__":
    with llama_server(Path(argv[1])) as url:
        rows = [{"text": text, "ids": llama_tokenize(url, text)} for text in probe_texts()]
    lines = [json.dumps(row, ensure_ascii=True) for row in rows]
    TARGET.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
