"""The whole benchmark in one go on a small synthetic world: people, knowledge base, plan, drafts, texts, verification."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forthwith.errors import ConfigError
from forthwith.personal.compose import draft
from forthwith.personal.fragment import DraftRecord
from forthwith.personal.kb.build import build_kb
from forthwith.personal.kb.knowledge import open_kb
from forthwith.personal.kb.split import split_users, write_splits
from forthwith.personal.kb_names import kb_user_ids
from forthwith.personal.plan import PlanConfig, make_plan
from forthwith.personal.render import RenderedRecord, render_record, style_ids
from forthwith.personal.verify import verify_record
from forthwith.personal.vocabulary import FAMILIES, Family
from forthwith.personal.world import WorldConfig, build_world

__all__ = ["Demo", "make_demo"]

_USERS_FOR_ONE_STATE = 2.5
_FEWEST_USERS = 240


@dataclass(frozen=True)
class Demo:
    """Verified records of a small world.

    Attributes:
        pairs: draft and text of every record that passed verification.
        dropped: how many did not.
        seconds: time by step.
    """

    pairs: tuple[tuple[DraftRecord, RenderedRecord], ...]
    dropped: int
    seconds: dict[str, float]

    def one_of(self, family: Family) -> tuple[DraftRecord, RenderedRecord] | None:
        """The shortest record without buried documents that asks this kind of question and has a right answer."""
        fitting = [
            (made, rendered)
            for made, rendered in self.pairs
            if not rendered.buried
            and any(fragment.family == family and fragment.is_hard for fragment in made.fragments)
        ]
        return min(fitting, key=lambda pair: len(pair[1].state), default=None)

    def pair(self, record_id: str | None = None) -> tuple[DraftRecord, RenderedRecord]:
        """The record of that id; without one, the shortest that asks three questions.

        Raises:
            ConfigError: there is no such record.
        """
        if record_id is None:
            return min(self.pairs, key=lambda pair: (-len(pair[0].fragments), len(pair[1].state)))
        for pair in self.pairs:
            if pair[0].planned.record_id == record_id:
                return pair
        raise ConfigError(f"no record {record_id!r}; ids go up to {self.pairs[-1][0].planned.record_id!r}", "record")

    def families(self) -> tuple[Family, ...]:
        """The kinds of question that occur."""
        found = {fragment.family for made, _ in self.pairs for fragment in made.fragments}
        return tuple(family for family in FAMILIES if family in found)


def make_demo(
    folder: str | Path, *, states: int = 200, seed: int = 20_260_930, on_step: Callable[[str], None] | None = None
) -> Demo:
    """Make `states` records in a fresh synthetic world whose tables and knowledge base stay in `folder`.

    Raises:
        DataError: the folder cannot hold a world.
        ConfigError: fewer than one state.
    """
    folder, clock = Path(folder), _Clock(on_step)
    users = max(_FEWEST_USERS, round(_USERS_FOR_ONE_STATE * states))
    build_world(folder / "world", WorldConfig(seed=seed, users=users, per_category=200, cities=5, emails=400))
    clock.lap("world")
    build_kb(folder / "world", folder / "kb")
    everyone = kb_user_ids(folder / "kb")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a demo has few users to train on, and trains nothing
        write_splits(folder / "kb", split_users(everyone, {"dev": round(0.9 * len(everyone))}))
    kb = open_kb(folder / "kb", "dev")
    clock.lap("knowledge base")
    plan = make_plan(kb, PlanConfig("dev", states, seed, style_ids("dev")))
    clock.lap("plan")
    drafts = [draft(record, kb) for record in plan.records]
    clock.lap("drafts")
    rendered = [render_record(made) for made in drafts]
    clock.lap("texts")
    pairs = [(made, text) for made, text in zip(drafts, rendered, strict=True) if verify_record(made, text).ok]
    clock.lap("verification")
    return Demo(tuple(pairs), len(drafts) - len(pairs) + len(plan.unplaced), clock.seconds)


class _Clock:
    def __init__(self, on_step: Callable[[str], None] | None) -> None:
        self.seconds: dict[str, float] = {}
        self._on_step, self._last = on_step, time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now
        if self._on_step is not None:
            self._on_step(f"{name}: {self.seconds[name]:.1f} s")
