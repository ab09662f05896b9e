"""Public data sets in their published file formats: fetched, checked, and turned into the normalised tables."""

from forthwith.personal.sources.catalogue import SOURCES, SourceFile, licences, load_pins, source_files
from forthwith.personal.sources.download import Acquired, DownloadPolicy, acquire, verify_files
from forthwith.personal.sources.normalise import SourceOptions, normalise

__all__ = [
    "SOURCES",
    "Acquired",
    "DownloadPolicy",
    "SourceFile",
    "SourceOptions",
    "acquire",
    "licences",
    "load_pins",
    "normalise",
    "source_files",
    "verify_files",
]
