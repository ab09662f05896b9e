"""Keyed stand-ins for people: the same person gets the same made-up name under one key, and another under the next.

Whoever has the key can test a guess, so this is pseudonymisation, not anonymisation. Given names and surnames are
composed of syllables (none is in the detectors' list of given names), over 200,000 pairs.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from forthwith.errors import ConfigError, DataError
from forthwith.personal.privacy_names import CJK_SURNAMES, FIRST_NAMES, TITLES

__all__ = ["GIVEN_NAMES", "SURNAMES", "ReleaseKey", "name_parts", "pseudonym"]

_GIVEN_STEMS = "Al Bel Cor Dar El Fen Gar Hal Is Jor Kel Lor Mel Nel Or Per Quin Ros Sel Tor Ul Ver Wen Yor Zel"
_GIVEN_ENDS = "ada amir ander andra eda elio emon ena etta ian ilde imar inda ion ista ivan olin ora oric undo wyn ys"
_SUR_STEMS = (
    "Ash Barn Birch Brack Carn Clay Cold Corn Crane Dale Dun Elm Fair Fern Flint Gale Glen Hart Haw Heath Holm Kel "
    "Lark Lin Marl Mere Moss North Oak Pen Quill Raven Rook Sand Shel Stan Thorn Ulver West Wyn"
)
_SUR_ENDS = (
    "bank beck borne bridge brook bury by combe cott dale den field ford gate ham hurst ley low mere mont more ridge "
    "rook stead ston thwaite ton wick worth"
)

GIVEN_NAMES = tuple(
    stem + end
    for stem in _GIVEN_STEMS.split()
    for end in _GIVEN_ENDS.split()
    if (stem + end).lower() not in FIRST_NAMES
)
SURNAMES = tuple(stem + end for stem in _SUR_STEMS.split() for end in _SUR_ENDS.split())
_CJK_GIVEN = "安北辰川东帆谷禾嘉景凯兰木宁棋然水桐文溪晓雅言雨泽子"
_MIN_HEX = 32
_WORD = r"[^\W\d_]+(?:['’-](?!s\b)[^\W\d_]+)*"


@dataclass(frozen=True)
class ReleaseKey:
    """The secret of one release; its `fingerprint` may be published, the key only in published-key mode."""

    secret: bytes = field(repr=False)

    @staticmethod
    def fresh() -> ReleaseKey:
        """A new random key of 256 bits."""
        return ReleaseKey(secrets.token_bytes(32))

    @staticmethod
    def from_hex(text: str) -> ReleaseKey:
        """A key from at least 32 hexadecimal digits.

        Raises:
            ConfigError: too short, or not hexadecimal.
        """
        digits = text.strip()
        if len(digits) < _MIN_HEX or not re.fullmatch(r"[0-9A-Fa-f]+", digits) or len(digits) % 2:
            raise ConfigError(
                f"a release key has {_MIN_HEX} or more hexadecimal digits in pairs, found {len(digits)} characters",
                "key",
            )
        return ReleaseKey(bytes.fromhex(digits))

    @staticmethod
    def load(path: str | Path) -> ReleaseKey:
        """The key in a file, or a new one written there (readable by its owner only) when the file does not exist.

        Raises:
            ConfigError: the file holds no key.
            DataError: it cannot be read or written.
        """
        path = Path(path)
        try:
            if path.exists():
                return ReleaseKey.from_hex(path.read_text(encoding="ascii", errors="replace"))
            key = ReleaseKey.fresh()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(key.secret.hex() + "\n", encoding="ascii")
        except OSError as error:
            raise DataError(f"cannot be used as a key file: {error}", path) from error
        return key

    @property
    def fingerprint(self) -> str:
        """16 hex digits that identify the key without giving it away."""
        return hashlib.sha256(b"release-key:" + self.secret).hexdigest()[:16]

    def user_id(self, original: str) -> str:
        """The released user id: 16 hex digits of HMAC-SHA256 over "user:" and the id."""
        return self._digest("user:" + original).hex()[:16]

    def index(self, purpose: str, text: str, size: int) -> int:
        """An integer in [0, size) for a text, by purpose."""
        return int.from_bytes(self._digest(f"{purpose}:{text}")[:8], "big") % size

    def _digest(self, text: str) -> bytes:
        return hmac.new(self.secret, text.encode(), hashlib.sha256).digest()


def pseudonym(name: str, key: ReleaseKey) -> str:
    """The stand-in for a detected name, in the same shape: title, order, initials, capitals and script stay."""
    if re.match(r"[\u4e00-\u9fff]", name):
        return _cjk(name, key)
    return "".join(name_parts(name, key).get(part, part) for part in re.split(rf"({_WORD})", name))


def name_parts(name: str, key: ReleaseKey) -> dict[str, str]:
    """Word of a name to its stand-in: given names before, the surname last (first in "Surname, Given")."""
    words = [word for word in re.findall(_WORD, name) if word not in TITLES]
    if not words:
        return {}
    surname = words[0] if "," in name else words[-1]
    return {word: _word(word, key, is_surname=word == surname) for word in words}


def _word(word: str, key: ReleaseKey, *, is_surname: bool) -> str:
    lowered = word.lower()
    if len(word) == 1:
        return "ABCDEFGHJKLMNPRSTVW"[key.index("initial", lowered, 19)]
    names, purpose = (SURNAMES, "last") if is_surname else (GIVEN_NAMES, "first")
    place = key.index(purpose, lowered, len(names))
    chosen = names[place] if names[place].lower() != lowered else names[(place + 1) % len(names)]
    return chosen.upper() if word.isupper() else chosen


def _cjk(name: str, key: ReleaseKey) -> str:
    place = key.index("cjk-last", name[0], len(CJK_SURNAMES))
    surname = CJK_SURNAMES[place] if CJK_SURNAMES[place] != name[0] else CJK_SURNAMES[(place + 1) % len(CJK_SURNAMES)]
    given = (_CJK_GIVEN[key.index(f"cjk-first-{n}", name[1:], len(_CJK_GIVEN))] for n in range(len(name) - 1))
    return surname + "".join(given)
