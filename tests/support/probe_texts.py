"""Texts on which two tokenizers are most likely to differ: numbers, prices, times, emoji, CJK, spaces, symbols."""

from __future__ import annotations

from itertools import product

NUMBERS = [
    "0",
    "7",
    "12",
    "999",
    "1234",
    "1,234.50",
    "1 234,50",
    "1_000_000",
    "3.14159",
    "1e-9",
    "6.022e23",
    "0x1F",
    "-40",
    "+49",
    "007",
    "½",
    "¼ cup",
    "x²",
    "m³",
    "①②③",
    "ⅻ",
    "٣٤٥",
    "१२३",
    "１２３",
    "Ⅳ",
    "10⁻³",
    "50%",
    "1/2",
    "#42",
    "No. 5",
]
CURRENCIES = ["$", "€", "£", "¥", "₹", "CHF ", "EUR ", "kr "]
AMOUNTS = ["5", "19.99", "1,250", "80000", "0.05", "12k"]
TIMES = [
    "9:05",
    "09:05",
    "23:59:59",
    "7am",
    "12:30 p.m.",
    "2024-02-29",
    "29.02.2024",
    "2/29/24",
    "2024-02-29T23:59:59Z",
    "Q3 2025",
    "in 15 min",
    "1h30",
    "+02:00",
    "week 52",
]
EMOJI = [
    "🙂",
    "👍🏽",
    "👩‍👩‍👧‍👦",
    "🇩🇪",
    "🏳️‍🌈",
    "❤️",
    "☎️ 555",
    "1️⃣",
    "🤷🏻‍♀️ maybe",
    "🔥🔥🔥",
    "✅ done",
    "⚠️",
    "→",
    "™",
    "©2024",
    "🫠",
]
CJK = [
    "三千円",
    "価格は1,980円です。",
    "2024年2月29日",
    "早上好",
    "我们在10点开会",
    "第3章",
    "한국어 텍스트 12개",
    "안녕하세요 👋",
    "ｶﾀｶﾅ",
    "（全角）",
    "「引用」",
    "中文English混排123",
    "東京タワー",
    "〇一二三",
    "价格：￥99.5",
]
SCRIPTS = [
    "naïve café",
    "Straße 12",
    "Ångström",
    "Привет, мир 2",
    "Γειά σου 3",
    "שלום 4",
    "مرحبا ٥",
    "नमस्ते",
    "สวัสดี 6",
    "e\u0301 combining",
    "ﬁ ligature",
    "Đặng",
    "İstanbul",
    "ǅ titlecase",
    "𝟘𝟙𝟚 𝒳",
    "𐍈",
]
SPACES = [
    "",
    " ",
    "  two",
    "three   spaces ",
    "\ttab",
    "line\nbreak",
    "\n\n\n",
    "a\r\nb",
    " \n x",
    "nbsp\u00a0here",
    "thin\u2009space",
    "zero\u200bwidth",
    "bom\ufeffx",
    "ideographic\u3000space",
    "trailing \t\n",
    "x\x0by",
]
WORDS = [
    "don't",
    "we'll've",
    "I'm I'M",
    "it's 5",
    "rock'n'roll",
    "O'Neil's",
    "U.S.A.",
    "e-mail",
    "C++",
    "a_b",
    "CamelCase99",
    "snake_1_2",
    "http://a.b/c?d=1&e=2",
    "a@b.co",
    "<b>bold</b>",
    '{"a": [1, 2.5, null]}',
    "```py\nx = 10\n```",
    "- item 1\n- item 2",
    "...",
    "!!!",
    "—",
    "“quoted”",
    "'single'",
    "\\n",
    "A/B",
    "100%!",
    "$$$",
    "#tag1",
    "v1.2.3-rc4",
    "IPv4 192.168.0.1",
]
TEMPLATES = ["Pay {} now", "{}", "is{}?", " total: {}\n", '"{}"', "a {}, b {}"]
CONTROL = ["<|im_start|>user\nhi 5<|im_end|>\n", "<|endoftext|>", "<|im_start|", "a<|im_end|>b"]


def probe_texts() -> list[str]:
    """All probe texts, without repeats, in a fixed order."""
    prices = [f"{currency}{amount}" for currency, amount in product(CURRENCIES, AMOUNTS)]
    plain = [*NUMBERS, *prices, *TIMES, *EMOJI, *CJK, *SCRIPTS, *SPACES, *WORDS, *CONTROL]
    inside = [
        template.format(*[value] * template.count("{}"))
        for index, value in enumerate([*NUMBERS, *prices, *TIMES, *EMOJI, *CJK])
        for template in (TEMPLATES[index % 6], TEMPLATES[(index + 1) % 6])
    ]
    return list(dict.fromkeys([*plain, *inside]))
