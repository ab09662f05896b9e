"""`forthwith personal world`, `build` and `split`: from people to a knowledge base in splits that share nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forthwith.cli.personal.receipt import counts_by_name, print_receipt

__all__ = ["build", "split", "world"]


def world(
    out: Annotated[Path, typer.Option(help="Where the tables go.")],
    users: Annotated[int, typer.Option(min=2, help="People; half review products, half restaurants.")] = 4_000,
    seed: Annotated[int, typer.Option(help="Everything follows from it and the sizes.")] = 20_260_930,
    per_category: Annotated[int, typer.Option(help="Products in each category.")] = 480,
    cities: Annotated[int, typer.Option(help="Cities with restaurants.")] = 10,
    emails: Annotated[int, typer.Option(help="Invented mails.")] = 3_000,
) -> None:
    """Make a synthetic world: no file and no network needed, the same seed gives the same bytes."""
    from forthwith.personal.tables import read_stats
    from forthwith.personal.world import WorldConfig, build_world

    build_world(out, WorldConfig(seed, users, per_category, cities, emails), show_progress=True)
    print_receipt(read_stats(out))


def build(
    tables: Annotated[Path, typer.Option(help="The folder of tables: a world's, or of `sources tables`.")],
    out: Annotated[Path, typer.Option(help="Where the knowledge base goes.")],
    per_domain: Annotated[str, typer.Option(help="Users of each domain, as product=N,restaurant=N; 0 for all.")] = "",
    seed: Annotated[int, typer.Option(help="Of the ranking of users.")] = 20_260_930,
    min_items: Annotated[int, typer.Option(help="Fewest distinct items of a user.")] = 8,
    max_items: Annotated[int, typer.Option(help="Most distinct items of a user.")] = 30,
    min_text_share: Annotated[float, typer.Option(help="Least share of remembered items with a text.")] = 0.8,
    allow_no_low_later: Annotated[  # noqa: FBT002
        bool, typer.Option("--allow-no-low-later", help="Take users without a later rating of 1 or 2, too.")
    ] = False,
    min_history: Annotated[int, typer.Option(help="Fewest items of a history.")] = 5,
    memory_fraction: Annotated[float, typer.Option(help="Share of a history that is remembered.")] = 0.6,
) -> None:
    """Pick users by counts alone and write their profiles, facts with verbatim evidence, rules and the catalogue."""
    from forthwith.personal.kb.build import BuildConfig, build_kb
    from forthwith.personal.kb.population import PopulationConfig

    wanted = {"product": 0, "restaurant": 0} | counts_by_name(per_domain, ("product", "restaurant"), "per-domain")
    population = PopulationConfig(
        seed=seed,
        per_domain=tuple(wanted.items()),
        min_items=min_items,
        max_items=max_items,
        min_text_share=min_text_share,
        needs_low_later=not allow_no_low_later,
    )
    print_receipt(build_kb(tables, out, BuildConfig(min_history, memory_fraction, population)))


def split(
    kb: Annotated[Path, typer.Option(help="The knowledge base.")],
    tables: Annotated[Path, typer.Option(help="The tables it was built from; the audit reads whole histories.")],
    users: Annotated[str, typer.Option(help="Evaluation users, as test=N,hidden=N,dev=N,val=N; the rest train.")] = "",
) -> None:
    """Split users by salted hash and audit that no two splits share a user, a choice, a text, an event or a mail."""
    from typing import cast

    from forthwith.personal.kb.leakage import audit_leakage
    from forthwith.personal.kb.split import DEFAULT_COUNTS, split_users, write_splits
    from forthwith.personal.kb_names import kb_user_ids
    from forthwith.personal.vocabulary import Split

    counts = counts_by_name(users, ("test", "hidden", "dev", "val"), "users")
    splits = split_users(kb_user_ids(kb), cast("dict[Split, int]", counts) or DEFAULT_COUNTS)
    write_splits(kb, splits)
    pairs = audit_leakage(tables, splits)
    print_receipt(
        {
            "users": {name: len(members) for name, members in splits.items()},
            "collisions": sum(pair.total for pair in pairs),
            "pairs": [pair for pair in map(_plain, pairs) if pair["total"]],
        }
    )


def _plain(pair: object) -> dict[str, object]:
    import dataclasses
    from typing import Any, cast

    return {**dataclasses.asdict(cast("Any", pair)), "total": cast("Any", pair).total}
