"""Which service takes a short request? It uses a short name; the state says what that is and what is connected.

The request alone says nothing: names of cities, restaurants, products, people and events come from one pool.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from forthwith.personal.families.context import Cell, FamilyContext, other_person, required
from forthwith.personal.fragment import Fragment, QuestionSpec
from forthwith.personal.lines import ConnectedServices, EntityNote, RoutingRule, RuleLine, ServiceChange
from forthwith.personal.pending import EntityRequest
from forthwith.personal.rules import Dated, EntityMeaning, connected_services, in_force, route
from forthwith.personal.steps import Step, one_of, yes_no
from forthwith.personal.vocabulary import (
    ENTITY_KINDS,
    ROUTE_OPTIONS,
    SERVICE_OF_ENTITY,
    SERVICES,
    EntityKind,
    RouteOption,
    Service,
)
from forthwith.personal.world.names import person_name, restaurant_name

__all__ = ["DESIGN", "build"]

DESIGN: tuple[Cell, ...] = (
    *(Cell("clean", service, "plain") for service in SERVICES),
    *(Cell("clean", service, "detour") for service in SERVICES),
    *(Cell("override", service, "change") for service in SERVICES),
    Cell("clean", "ask_user", "ambiguous"),
    Cell("clean", "ask_user", "unconnected"),
    Cell("override", "ask_user", "change"),
)
"""Six labels, each twice clean and once with dated changes of what is connected."""

_KIND_OF: dict[Service, EntityKind] = {service: kind for kind, service in SERVICE_OF_ENTITY.items()}
_UNCLEAR = "more than one thing"
_EVENTS = ("choir practice", "the dentist visit", "piano lesson", "book club", "the car service", "board game night")


class _Setting(NamedTuple):
    """What is connected and what the user routes elsewhere."""

    services: tuple[Service, ...]
    changes: tuple[ServiceChange, ...]
    detours: tuple[RoutingRule, ...]


def build(ctx: FamilyContext) -> Fragment | None:
    """A fragment whose label is the one scheduled, or None when this user cannot give it."""
    service = _needed(ctx)
    if service is None:
        return None
    kind = _KIND_OF[service]
    setting = _setting(ctx, kind, service)
    if setting is None:
        return None
    if setting.detours:
        kind = setting.detours[-1].entity_kind
    name = _short_name(ctx, kind)
    if name is None:
        return None
    notes = (_note(ctx, name, kind, 0), *(_second_meaning(ctx, name, kind)))
    label = route(
        [EntityMeaning(note.entity_kind, note.refers_to, note.country) for note in notes],
        [(rule.entity_kind, Dated(rule.service, rule.since)) for rule in setting.detours],
        _connected(ctx, setting),
        ctx.today,
    )
    return None if label != ctx.slot.label else _fragment(ctx, setting, notes, label)


def _connected(ctx: FamilyContext, setting: _Setting) -> frozenset[Service]:
    changes: list[tuple[dt.date, Service, bool]] = [(c.date, c.service, c.connected) for c in setting.changes]
    return connected_services(setting.services, changes, ctx.today)


def _needed(ctx: FamilyContext) -> Service | None:
    """The service that the request needs, connected or not."""
    connected = ctx.user.habits.services
    if ctx.slot.label != "ask_user":
        return next(service for service in SERVICES if service == ctx.slot.label)
    pool: Sequence[Service] = SERVICES
    if ctx.slot.scenario == "unconnected":
        pool = [service for service in SERVICES if service not in connected]
    elif ctx.slot.scenario == "ambiguous":
        pool = connected
    return ctx.rng.choice(pool) if pool else None


def _setting(ctx: FamilyContext, kind: EntityKind, service: Service) -> _Setting | None:
    listed = ctx.user.habits.services
    if ctx.slot.variant == "override":
        changes = _changes(ctx, service, is_listed=service in listed)
        return None if changes is None else _Setting(listed, changes, ())
    if ctx.slot.label != "ask_user" and service not in listed:
        return None
    wants_detour = ctx.slot.scenario == "detour" or (ctx.slot.label == "ask_user" and ctx.rng.random() < 0.3)
    return _Setting(listed, (), _detours(ctx, kind, service) if wants_detour else ())


def _changes(ctx: FamilyContext, service: Service, *, is_listed: bool) -> tuple[ServiceChange, ...] | None:
    """Dated changes that end connected or not, as the label wants: one, or two when the list already says so."""
    ends_connected = ctx.slot.label != "ask_user"
    first = ctx.recent_day()
    if first is None:
        return None
    if ends_connected != is_listed:
        return (ServiceChange(f"service:{service}:0", service, ends_connected, first),)
    second = ctx.day_after(first)
    if second is None:
        return None
    return (
        ServiceChange(f"service:{service}:0", service, not ends_connected, first),
        ServiceChange(f"service:{service}:1", service, ends_connected, second),
    )


def _detours(ctx: FamilyContext, kind: EntityKind, service: Service) -> tuple[RoutingRule, ...]:
    """A rule that sends another kind of thing to the service, now and then after one that sent it elsewhere."""
    kinds: list[EntityKind] = [found for found in ENTITY_KINDS if found != kind]
    other = ctx.rng.choice(kinds)
    since: dt.date | None = ctx.recent_day()
    lines: list[RoutingRule] = []
    if since is not None and ctx.rng.random() < 0.5:
        services: list[Service] = [found for found in SERVICES if found != service]
        old = ctx.rng.choice(services)
        lines.append(RoutingRule(f"routing:{other}:0", other, old))
    else:
        since = None
    lines.append(RoutingRule(f"routing:{other}:1", other, service, since))
    return tuple(lines)


# ---- names --------------------------------------------------------------------------------------------------------


def _short_name(ctx: FamilyContext, kind: EntityKind) -> str | None:
    """A name from the one pool: of a city that can be flown to when the thing is a city, else of any city."""
    places = ctx.kb.places
    if ctx.slot.scenario == "ambiguous" and kind == "city" and not ctx.kb.is_synthetic:
        return ctx.rng.choice(places.ambiguous) if places.ambiguous else None
    if kind == "city":
        reached = places.reached.get(ctx.user.home_airport, ())
        return ctx.rng.choice(reached) if reached else None
    return ctx.rng.choice(list(places.by_city))


def _note(ctx: FamilyContext, name: str, kind: EntityKind, number: int) -> EntityNote:
    line_id = f"entity:{name}:{number}"
    if kind == "city":
        airports = ctx.kb.places.by_city[name]
        country = airports[0].country
        codes = tuple(airport.iata for airport in airports if airport.country == country)[:2]
        return EntityNote(line_id, name, kind, name, country, codes)
    return EntityNote(line_id, name, kind, _full_name(ctx, kind))


def _full_name(ctx: FamilyContext, kind: EntityKind) -> str:
    catalogue = ctx.kb.catalogue
    match kind:
        case "restaurant" | "product":
            facts = [fact for fact in ctx.open_facts() if fact.domain == kind]
            if facts:
                return ctx.rng.choice(facts).item_name
            if kind == "restaurant":
                return restaurant_name(ctx.rng)
            rows = catalogue.groups["product", ctx.rng.choice(catalogue.categories["product"]), None]
            return catalogue.names[int(rows[ctx.rng.randrange(len(rows))])]
        case "person":
            people = ctx.user.habits.people
            return ctx.rng.choice(people).name if ctx.rng.random() < 0.7 else person_name(ctx.rng)
        case _:
            return ctx.rng.choice(_EVENTS)


def _second_meaning(ctx: FamilyContext, name: str, kind: EntityKind) -> tuple[EntityNote, ...]:
    """For an ambiguous name, another thing of that name: of another kind, or a city in another country."""
    if ctx.slot.scenario != "ambiguous":
        return ()
    line_id = f"entity:{name}:1"
    if kind == "city" and (not ctx.kb.is_synthetic or ctx.rng.random() < 0.5):
        own = ctx.kb.places.by_city[name]
        twins = [airport for airport in own if airport.country != own[0].country]
        if twins:
            return (EntityNote(line_id, name, "city", name, twins[0].country, (twins[0].iata,)),)
        far = ctx.rng.choice([airport for airport in ctx.kb.places.busiest if airport.country != own[0].country])
        return (EntityNote(line_id, name, "city", name, far.country, (far.iata,)),)
    kinds: list[EntityKind] = [found for found in ENTITY_KINDS if found not in (kind, "city")]
    other = ctx.rng.choice(kinds)
    return (EntityNote(line_id, name, other, _full_name(ctx, other)),)


def _other_notes(ctx: FamilyContext, name: str) -> tuple[EntityNote, ...]:
    """Other short names, the first of them close to the one asked about."""
    pool = [city for city in ctx.kb.places.by_city if city not in name and name not in city]
    close = [city for city in pool if city[:3] == name[:3]] or pool
    names = dict.fromkeys([ctx.rng.choice(close), *(ctx.rng.choice(pool) for _ in range(ctx.rng.randint(1, 3)))])
    return tuple(_note(ctx, city, ctx.rng.choice(ENTITY_KINDS), 0) for city in names)


# ---- the fragment -------------------------------------------------------------------------------------------------


def _fragment(ctx: FamilyContext, setting: _Setting, notes: tuple[EntityNote, ...], label: RouteOption) -> Fragment:
    when = ctx.today + dt.timedelta(days=ctx.rng.randint(1, 9)) if ctx.rng.random() < 0.5 else None
    pending = ctx.pending("Request", EntityRequest(notes[0].name, when))
    rules: list[RuleLine] = [ConnectedServices("services", setting.services), *setting.changes, *setting.detours]
    noise: list[RuleLine] = []
    if ctx.rng.random() < 0.35:
        owner = other_person(ctx)
        theirs: list[Service] = [service for service in SERVICES if ctx.rng.random() < 0.5]
        noise.append(ConnectedServices(f"services:{owner}", tuple(theirs) or ("email",), owner=owner))
    others = _other_notes(ctx, notes[0].name)
    shown = [*notes, *others]
    ctx.rng.shuffle(shown)
    kinds = " and ".join(note.entity_kind for note in notes)
    return Fragment(
        family="route",
        qid="route",
        variant=ctx.slot.variant,
        scenario=ctx.slot.scenario,
        question=QuestionSpec("route", "choice", pending.label, route_options=_ordered(ctx, label)),
        label=label,
        soft=None,
        required=required((pending, *rules, *noise, *notes)),
        forbidden=(),
        rule_path=(f"{notes[0].name} is {kinds}", f"connected: {', '.join(setting.services)} and changes", label),
        pending=pending,
        steps=_steps(ctx, setting, notes),
        rules=(*rules, *noise),
        notes=tuple(shown),
        distractors=frozenset(line.line_id for line in (*noise, *others)),
    )


def _steps(ctx: FamilyContext, setting: _Setting, notes: tuple[EntityNote, ...]) -> tuple[Step, ...]:
    """What the short name stands for, which service that takes, and whether it is connected."""
    name, kind = notes[0].name, notes[0].entity_kind
    if len(notes) > 1:
        return (one_of("kind", f"What does {name} stand for?", (*ENTITY_KINDS, _UNCLEAR), _UNCLEAR),)
    detours = [Dated(rule.service, rule.since) for rule in setting.detours if rule.entity_kind == kind]
    service = in_force(detours, ctx.today) or SERVICE_OF_ENTITY[kind]
    is_connected = service in _connected(ctx, setting)
    return (
        one_of("kind", f"What does {name} stand for?", (*ENTITY_KINDS, _UNCLEAR), kind),
        one_of("service", f"Which service takes care of {name}, connected or not?", SERVICES, service),
        yes_no("connected", f"Is {service} connected today?", is_connected),
    )


def _ordered(ctx: FamilyContext, label: RouteOption) -> tuple[RouteOption, ...]:
    rest: list[RouteOption] = [option for option in ROUTE_OPTIONS if option != label]
    ctx.rng.shuffle(rest)
    position = ctx.slot.position or 0
    return (*rest[:position], label, *rest[position:])
