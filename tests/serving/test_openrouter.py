from __future__ import annotations

from forthwith.errors import FieldProblem
from forthwith.serving.failures import Failure
from forthwith.serving.openrouter import OPEN_ROUTER, render_failure

BODY = {
    "state": "s",
    "questions": {"q": {"type": "noul", "instructions": "x"}},
    "provider": {"sort": "price"},
    "user": "u",
}


def test_vendor_prefixes_of_model_names_are_dropped() -> None:
    for name in ("~typesafe/jev-latest", "typesafe/jev-latest", "jev-latest"):
        assert OPEN_ROUTER.read(BODY | {"model": name}).request.model == "jev-latest"


def test_errors_have_that_apis_shape() -> None:
    failure = Failure(422, "invalid_request", "bad", (FieldProblem(("questions", "q"), "is bad", "value_error"),))
    assert render_failure(failure) == {
        "error": {
            "code": 422,
            "message": "questions.q: is bad",
            "metadata": {"error_type": "invalid_request", "fields": ["questions.q"]},
        }
    }
