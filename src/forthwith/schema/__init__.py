"""What is asked and what is right: states, questions, requests, records, targets."""

from forthwith.schema.hashes import state_sha256
from forthwith.schema.json_text import MAX_DEPTH, JsonValue, check_json_value, parse_json
from forthwith.schema.questions import (
    MAX_LEVELS,
    MAX_OPTIONS,
    Choice,
    Content,
    Noul,
    NoulCriteria,
    Question,
    Request,
    Score,
    option_descriptions,
    option_keys,
    parse_request,
    request_error,
)
from forthwith.schema.records import (
    BadLine,
    Record,
    Target,
    iter_records,
    parse_record,
    read_records,
    records_from_stream,
)

__all__ = [
    "MAX_DEPTH",
    "MAX_LEVELS",
    "MAX_OPTIONS",
    "BadLine",
    "Choice",
    "Content",
    "JsonValue",
    "Noul",
    "NoulCriteria",
    "Question",
    "Record",
    "Request",
    "Score",
    "Target",
    "check_json_value",
    "iter_records",
    "option_descriptions",
    "option_keys",
    "parse_json",
    "parse_record",
    "parse_request",
    "read_records",
    "records_from_stream",
    "request_error",
    "state_sha256",
]
