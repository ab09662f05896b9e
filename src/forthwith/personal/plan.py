"""The whole run before anything is drafted for good: users, families, variants, labels, positions, styles, budgets.

Schedules are fixed first, for the data set as a whole; then users are found who can give what is scheduled. Chunks of
records have their own users and their own slice of the schedules, so that they are planned in parallel, and a plan is the
same for any number of processes.
"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.progress import track

from forthwith.errors import ConfigError, DataError
from forthwith.personal.balance import schedule_cells, schedule_positions
from forthwith.personal.compose import build_fragment, compose
from forthwith.personal.determinism import seeded_rng
from forthwith.personal.families.builders import designs_of
from forthwith.personal.families.context import Cell, RankTally
from forthwith.personal.families.option_sets import record_ranks
from forthwith.personal.fragment import Extent, Fragment, PlannedFamily, PlannedRecord
from forthwith.personal.kb.knowledge import KnowledgeBase, open_kb
from forthwith.personal.render.styles import style_ids
from forthwith.personal.vocabulary import FAMILIES, Family, Split

__all__ = ["CHUNK", "Plan", "PlanConfig", "make_plan"]

CHUNK = 250
"""Records that are planned together."""

RECIPE = "pd-recipe-5"
"""Changes whenever the same plan would give other records."""

ATTEMPTS = 3
"""Random streams tried for one fragment of one user."""

MIN_CHUNK_USERS = 12


@dataclass(frozen=True)
class PlanConfig:
    """What to plan.

    Attributes:
        split: whose users, mails and share of the phrasings.
        states: number of records.
        seed: everything follows from it, the knowledge base and the other settings.
        styles: ids of rendering styles, dealt out evenly; empty for all that the split may use.
        questions_per_state: mean number of questions, 1 to 3.
        p_buried: share of the records that get documents to bury.
        p_brief: share of the records that hold nothing but what their questions need: no further memories, no lines that
            must not change the answer, no documents. For training: a rule is learned from fewer tokens.
        families: which families take part.
        asks_steps: ask the steps of each rule, too; for training records alone.
        p_short: share of the records without further memories and documents, but with the lines that must not change an answer.
        lookups: questions about single lines, at most so many a record; for training records alone.
    """

    split: Split
    states: int
    seed: int
    styles: tuple[str, ...] = ()
    questions_per_state: float = 2.5
    p_buried: float = 0.25
    families: tuple[Family, ...] = FAMILIES
    p_brief: float = 0.0
    asks_steps: bool = False
    p_short: float = 0.0
    lookups: int = 0

    def __post_init__(self) -> None:
        if self.states < 1:
            raise ConfigError(f"states is {self.states}; plan at least one record", "states")
        known = style_ids(self.split)
        if unknown := set(self.styles) - set(known):
            raise ConfigError(f"unknown style {sorted(unknown)[0]!r}; styles are {', '.join(known)}", "styles")
        if strays := set(self.families) - set(FAMILIES):
            raise ConfigError(f"unknown family {sorted(strays)[0]!r}; families are {', '.join(FAMILIES)}", "families")
        if not 1 <= self.questions_per_state <= min(3, len(self.families)):
            raise ConfigError(
                f"questions_per_state is {self.questions_per_state}; it lies in 1..{min(3, len(self.families))}",
                "questions_per_state",
            )
        if not 0 <= self.p_buried <= 1:
            raise ConfigError(f"p_buried is {self.p_buried}; it is a share from 0 to 1", "p_buried")
        if self.asks_steps and self.split != "train":
            raise ConfigError(
                f"the split is {self.split!r}; the steps of a rule are asked in training alone", "asks_steps"
            )
        if self.lookups < 0 or (self.lookups and self.split != "train"):
            raise ConfigError(
                f"lookups is {self.lookups} for the split {self.split!r}; it is 0 or more, and lines are asked about in training"
                " alone",
                "lookups",
            )
        self._check_shares()

    def _check_shares(self) -> None:
        left = 1 - self.p_buried
        for name, share in (("p_brief", self.p_brief), ("p_short", self.p_short)):
            if not 0 <= share <= left + 1e-9:
                raise ConfigError(
                    f"{name} is {share}; brief and short records hold no documents, so it lies in 0..{left:g}, what"
                    f" {'p_buried leaves' if name == 'p_brief' else 'p_buried and p_brief leave'}",
                    name,
                )
            left -= share


@dataclass(frozen=True)
class Plan:
    """A planned run.

    Attributes:
        fingerprint: of configuration, knowledge base and recipe.
        records: in order of index.
        unplaced: indices for which no user could be found.
    """

    config: PlanConfig
    fingerprint: str
    records: tuple[PlannedRecord, ...]
    unplaced: tuple[int, ...]


def make_plan(kb: KnowledgeBase, config: PlanConfig, *, processes: int = 1, show_progress: bool = False) -> Plan:
    """Plan a run; the result depends on the configuration and the knowledge base alone.

    Raises:
        DataError: the split has too few users.
        ConfigError: the knowledge base is of another split.
    """
    if kb.split != config.split:
        raise ConfigError(f"the plan is for {config.split!r} and the knowledge base holds {kb.split!r}", "split")
    if len(kb.users) < MIN_CHUNK_USERS:
        raise DataError(f"the split {kb.split!r} has {len(kb.users)} users; at least {MIN_CHUNK_USERS} are needed")
    outlines = _outlines(config, designs_of(kb))
    chunks = [outlines[start : start + CHUNK] for start in range(0, len(outlines), CHUNK)]
    pools = _pools(kb, config, len(chunks))
    if processes > 1 and len(chunks) > 1:
        with ProcessPoolExecutor(
            processes, _SPAWN, initializer=_open_in_worker, initargs=(kb.folder, kb.split)
        ) as workers:
            results = workers.map(_plan_in_worker, chunks, pools)
            planned = list(track(results, "planning", total=len(chunks), disable=not show_progress))
    else:
        work = track(zip(chunks, pools, strict=True), "planning", total=len(chunks), disable=not show_progress)
        planned = [_plan_chunk(kb, chunk, pool) for chunk, pool in work]
    records = [record for chunk in planned for record in chunk]
    placed = {record.index for record in records}
    unplaced = tuple(outline.index for outline in outlines if outline.index not in placed)
    return Plan(config, _fingerprint(kb, config), tuple(records), unplaced)


def _fingerprint(kb: KnowledgeBase, config: PlanConfig) -> str:
    text = json.dumps([RECIPE, kb.fingerprint, asdict(config)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _outlines(config: PlanConfig, designs: Mapping[Family, Sequence[Cell]]) -> list[PlannedRecord]:
    """Records without users: every schedule is dealt out here, over the whole data set."""
    families = _families(config)
    counts: Counter[Family] = Counter(family for row in families for family in row)
    slots = {family: iter(_slots(config, family, designs[family], count)) for family, count in counts.items()}
    styles = _styles(config)
    buried = _buried(config)
    extents = _extents(config, buried)
    return [
        PlannedRecord(
            record_id=f"pd/{config.split}/{config.seed}/{index}",
            split=config.split,
            seed=config.seed,
            index=index,
            user_id="",
            visit=0,
            style_id=styles[index],
            families=tuple(next(slots[family]) for family in row),
            buried_tokens=buried[index],
            wording_split=config.split,
            extent=extents[index],
            asks_steps=config.asks_steps,
            lookups=config.lookups,
        )
        for index, row in enumerate(families)
    ]


def _families(config: PlanConfig) -> list[tuple[Family, ...]]:
    """Round-robin first families, then others at random, so that the mean number of questions is as asked for."""
    rng = seeded_rng("pd-families", config.split, config.seed)
    names = list(config.families)
    offset = rng.randrange(len(names))
    rows: list[tuple[Family, ...]] = []
    for index in range(config.states):
        first = names[(index + offset) % len(names)]
        asked = math.floor((index + 1) * config.questions_per_state) - math.floor(index * config.questions_per_state)
        others: list[Family] = [name for name in names if name != first]
        extras = rng.sample(others, k=asked - 1)
        rows.append((first, *extras))
    return rows


def _slots(config: PlanConfig, family: Family, design: Sequence[Cell], count: int) -> list[PlannedFamily]:
    name = (config.split, config.seed, family)
    cells = schedule_cells(design, count, seeded_rng("pd-cells", *name))
    places = _places(cells, family, name)
    return [
        PlannedFamily(family, cell.variant, cell.scenario, cell.label, cell.is_hard, place, cell.size)
        for cell, place in zip(cells, places, strict=True)
    ]


def _places(cells: Sequence[Cell], family: Family, name: tuple[object, ...]) -> list[int | None]:
    """Position of the right option: scheduled apart for each number of options, hard and soft."""
    if family not in ("route", "pick_option"):
        return [None] * len(cells)
    groups: defaultdict[tuple[int, bool], list[int]] = defaultdict(list)
    for index, cell in enumerate(cells):
        groups[cell.size or 6, cell.is_hard].append(index)
    places: list[int | None] = [None] * len(cells)
    for (size, is_hard), members in sorted(groups.items()):
        rng = seeded_rng("pd-positions", *name, size, is_hard)
        for index, place in zip(members, schedule_positions(size, len(members), rng), strict=True):
            places[index] = place
    return places


def _styles(config: PlanConfig) -> list[str]:
    rng = seeded_rng("pd-styles", config.split, config.seed)
    names = config.styles or style_ids(config.split)
    return [names[place] for place in schedule_positions(len(names), config.states, rng)]


def _buried(config: PlanConfig) -> list[int]:
    """Token budgets; the share of records with documents is exact."""
    rng = seeded_rng("pd-budgets", config.split, config.seed)
    chosen = set(rng.sample(range(config.states), k=round(config.p_buried * config.states)))
    return [rng.randint(1_000, 6_000) if index in chosen else 0 for index in range(config.states)]


def _extents(config: PlanConfig, buried: Sequence[int]) -> list[Extent]:
    """Which records are brief and which short; those with documents are neither."""
    rng = seeded_rng("pd-brief", config.split, config.seed)
    free = [index for index, budget in enumerate(buried) if budget == 0]
    brief = set(rng.sample(free, k=min(len(free), round(config.p_brief * config.states))))
    rest = [index for index in free if index not in brief]
    short = set(rng.sample(rest, k=min(len(rest), round(config.p_short * config.states))))
    return ["brief" if index in brief else "short" if index in short else "full" for index in range(config.states)]


def _pools(kb: KnowledgeBase, config: PlanConfig, chunks: int) -> list[list[str]]:
    """Users of each chunk: its own part, or everyone where the parts would be too small."""
    users = sorted(kb.users)
    seeded_rng("pd-order", config.split, config.seed).shuffle(users)
    if len(users) // chunks < MIN_CHUNK_USERS:
        return [users[start:] + users[:start] for start in (len(users) * c // chunks for c in range(chunks))]
    return [users[len(users) * c // chunks : len(users) * (c + 1) // chunks] for c in range(chunks)]


# ---- finding users ------------------------------------------------------------------------------------------------

_SPAWN = multiprocessing.get_context("spawn")  # polars keeps threads, which a forked process would wait for
_worker: dict[str, KnowledgeBase] = {}


def _open_in_worker(folder: Path, split: Split) -> None:
    _worker["kb"] = open_kb(folder, split)


def _plan_in_worker(chunk: Sequence[PlannedRecord], pool: Sequence[str]) -> list[PlannedRecord]:
    return _plan_chunk(_worker["kb"], chunk, pool)


def _plan_chunk(kb: KnowledgeBase, chunk: Sequence[PlannedRecord], pool: Sequence[str]) -> list[PlannedRecord]:
    """Give each outline the first waiting user who can fill it; users who fill one go to the end of the queue."""
    tally = RankTally()
    waiting = deque((user, 0) for user in pool)
    planned: list[PlannedRecord] = []
    for outline in chunk:
        for turn in range(3 * len(waiting)):
            user, visit = waiting[turn % len(waiting)]
            record = _try_user(kb, replace(outline, user_id=user, visit=visit + turn // len(waiting)), tally)
            if record is not None:
                planned.append(record)
                del waiting[turn % len(waiting)]
                waiting.append((user, record.visit + 1))
                break
    return planned


def _try_user(kb: KnowledgeBase, record: PlannedRecord, tally: RankTally) -> PlannedRecord | None:
    """The record with its attempts filled in, or None when this user cannot give it."""
    fragments: list[Fragment] = []
    slots: list[PlannedFamily] = []
    for place, slot in enumerate(record.families):
        found = _try_slot(kb, record, place, slot, tally)
        if found is None:
            return None
        slots.append(found[0])
        fragments.append(found[1])
    complete = replace(record, families=tuple(slots))
    if compose(kb, complete, fragments) is None:
        return None
    for slot, fragment in zip(slots, fragments, strict=True):
        if fragment.ranks:
            record_ranks(fragment.ranks, slot.size, tally, is_hard=slot.is_hard)
    return complete


def _try_slot(
    kb: KnowledgeBase, record: PlannedRecord, place: int, slot: PlannedFamily, tally: RankTally
) -> tuple[PlannedFamily, Fragment] | None:
    for attempt in range(ATTEMPTS):
        fragment = build_fragment(kb, record, place, replace(slot, attempt=attempt), tally)
        if fragment is not None:
            ranks = tuple(first for first, _ in fragment.ranks)
            return replace(slot, attempt=attempt, candidate=fragment.candidate, ranks=ranks), fragment
    return None
