"""OpenFlights files: hand-written rows, and the published ones where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forthwith.errors import DataError
from forthwith.personal.sources.catalogue import load_pins, source_files
from forthwith.personal.sources.download import file_sha256
from forthwith.personal.sources.openflights import load_openflights

AIRPORTS = (
    '1,"Alpha Field","Alphaville","Nowhere","ALP","XALP",1.5,-2.25,100,10,"U","Pacific/Nowhere","airport","Ours"\n'
    '2,"Beta, East","Port O\\\'Beta","Nowhere",\\N,"XBET",0,0,5,\\N,"U",\\N,"airport","Ours"\n'
)
AIRLINES = '-1,"Unknown",\\N,"-","N/A",\\N,\\N,"Y"\n7,"Alpha Air",\\N,"AA","ALA","ALPHA","Nowhere","N"\n'
ROUTES = "AA,7,ALP,1,BET,2,,0,CR2\nAA,7,BET,2,ALP,1,Y,1,CR2\n"


def _write(folder: Path, airports: str = AIRPORTS, airlines: str = AIRLINES, routes: str = ROUTES) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in (("airports", airports), ("airlines", airlines), ("routes", routes)):
        (folder / f"{name}.dat").write_text(text, encoding="utf-8")
    return folder


def test_rows_become_typed_columns(tmp_path: Path):
    flights = load_openflights(_write(tmp_path))
    assert flights.airports.select("iata", "city", "latitude", "longitude", "time_zone").rows() == [
        ("ALP", "Alphaville", 1.5, -2.25, "Pacific/Nowhere"),
        (None, "Port O'Beta", 0.0, 0.0, None),
    ]
    assert flights.airports["name"][1] == "Beta, East"
    assert flights.airlines.select("airline_id", "iata", "active").rows() == [(-1, "-", True), (7, "AA", False)]
    assert flights.routes.select("source_iata", "destination_iata", "codeshare", "stops").rows() == [
        ("ALP", "BET", False, 0),
        ("BET", "ALP", True, 1),
    ]


@pytest.mark.parametrize(
    ("bad", "reason"), [("AA,7,ALP\n", "has 3 columns, not 9"), ("AA,7,ALP,1,BET,2,,many,CR2\n", "broken number")]
)
def test_a_broken_row_is_named_by_path_and_line(tmp_path: Path, bad: str, reason: str):
    with pytest.raises(DataError, match=reason) as caught:
        load_openflights(_write(tmp_path, routes=ROUTES + bad))
    assert (caught.value.path, caught.value.line) == (tmp_path / "routes.dat", 3)


def test_a_missing_file_is_a_data_error(tmp_path: Path):
    with pytest.raises(DataError, match="cannot be read"):
        load_openflights(tmp_path)


@pytest.mark.public_data
def test_the_published_files_have_the_documented_sizes_and_pinned_bytes():
    folder = Path(os.environ["FORTHWITH_PUBLIC_DATA"]) / "sources" / "openflights"
    flights = load_openflights(folder)
    assert (flights.airports.height, flights.airlines.height, flights.routes.height) == (7_698, 6_162, 67_663)
    pins = load_pins()
    for file in source_files(("openflights",)):
        path = folder / Path(file.name).name
        assert (file_sha256(path), path.stat().st_size) == pins[file.name]
    airports = flights.airports.drop_nulls("iata")
    assert airports.filter(iata="CDG")["city"].to_list() == ["Paris"]
    assert not flights.airports["name"].str.contains("\\\\").any()
