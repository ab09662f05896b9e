"""Invented names of people, brands, places to eat, cities and countries, made from word parts; none is from data."""

from __future__ import annotations

import random

__all__ = [
    "FIRST_NAMES",
    "LAST_NAMES",
    "all_brand_names",
    "all_city_names",
    "all_country_names",
    "person_name",
    "restaurant_name",
]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIRST_NAMES = _words(
    """
    Adela Anselm Aurin Belina Benno Brisa Cael Calla Corin Dalia Darian Delphine Edda Elio Emeric Fabia Ferran
    Fiora Galen Gemma Gideon Halina Hollis Ilsa Imre Ines Jorin Juna Kaia Kellan Lacey Leandro Liora Lucan Mabel
    Marek Mirela Nadia Nevin Nola Odette Orson Otilia Perrin Petra Quill Rafaela Renzo Rosalind Sabine Selwyn
    Sorina Tamsin Teodor Thora Ulric Una Valo Vesna Wilma Wystan Xenia Yara Yorick Zelda Zoltan
    """
)
LAST_NAMES = _words(
    """
    Abernall Alderby Ashgrove Barrowin Bellweather Birkmoor Calloran Cranfeld Culverson Dabney Dornick Drayfield
    Eastmere Ellerton Fairlow Farnaby Fenwright Gadsmoor Garrick Glenholt Hadlow Harkness Holcombe Ingleside
    Ivorson Jasperly Kestrelin Kirkwall Lambourne Larkhurst Lockhaven Marchbank Merriden Morrowin Netherby
    Norcott Oakhurst Ormsby Penhale Pikeworth Quenby Radcroft Ravenell Rushford Saltmarsh Sedgeley Stanmere
    Tarrow Thistlewood Tolliver Underhay Vandermoor Wainscott Wexley Whitlock Wolfsdon Yardleigh Yelverton
    Zandry
    """
)
_BRAND_LEFT = _words(
    """
    Harbor Juniper Prairie Copper Linden Maple Silver Amber Cedar Willow Granite Meadow Falcon Coral Ember Frost
    Hazel Indigo Jasper Kestrel Lunar Marble North Opal Pebble Quarry Raven Saffron Timber Umber Velvet Wander
    Yonder Zephyr Birch Clover Dune Elder Fable Glimmer
    """
)
_BRAND_RIGHT = _words(
    """
    Oak Ridge Bell Field Creek Lane Works Hearth Grove Mill Point Barn Crest Dale Fern Gate Hollow Isle Kettle
    Lake Moor Nook Orchard Path Quay Reach Spring Tide Vale Weave
    """
)
_CITY_LEFT = _words(
    """
    Mar Fen Ald Bre Cor Dun El Far Glen Har Ing Kel Lor Mer Nor Os Pen Quin Ros Sel Tor Ul Ver Wes Yar Zan Bel
    Car Dor Eve Fal Gar Hel Is Jar Kin Lin Mon Nev Or
    """
)
_CITY_RIGHT = _words(
    """
    low wick bury stead ton mouth ham field ford gate haven mere port vale wyn dale brook stow cliff moor
    """
)
_COUNTRY_LEFT = _words(
    """
    Nor Sud Ost Vel Car Bal Tav Mir Lun Est Gor Hal Jov Kar Pel Rav Sar Tal Ur Zel
    """
)
_COUNTRY_RIGHT = _words(
    """
    land avia onia mark istan ia reich mora
    """
)
_EATERY_ADJECTIVE = _words(
    """
    Copper Crooked Gilded Hidden Hungry Idle Jolly Lucky Mellow Painted Quiet Rusty Salted Sleepy Smoked Sunny
    Tall Twin Velvet Wandering Wooden Yellow Silver Blue Black Little Broken Blooming
    """
)
_EATERY_NOUN = _words(
    """
    Heron Lantern Ladle Anchor Fig Goose Kettle Lemon Magpie Oven Pear Plum Quince Rooster Spoon Table Thistle
    Tiger Trout Turnip Walnut Whistle Wren Barrel Bramble Cellar Dragon Elm Fennel Garden
    """
)


def person_name(rng: random.Random) -> str:
    """A first and a last name."""
    return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"


def all_brand_names() -> list[str]:
    """Every brand name, in a fixed order: 1,200 of them."""
    return [f"{left} {right}" for left in _BRAND_LEFT for right in _BRAND_RIGHT]


def all_city_names() -> list[str]:
    """Every city name, in a fixed order: 800 of them."""
    return [left + right for left in _CITY_LEFT for right in _CITY_RIGHT]


def all_country_names() -> list[str]:
    """Every country name, in a fixed order: 160 of them."""
    return [left + right for left in _COUNTRY_LEFT for right in _COUNTRY_RIGHT]


def restaurant_name(rng: random.Random) -> str:
    """The name of a place to eat, without its cuisine."""
    if rng.random() < 0.3:
        return f"{rng.choice(LAST_NAMES)} & {rng.choice(LAST_NAMES)}"
    return f"The {rng.choice(_EATERY_ADJECTIVE)} {rng.choice(_EATERY_NOUN)}"
