// What is on the page, as a request and as code. No page elements in here.

export function stateOf(text) {
  const trimmed = text.trim();
  if (/^[[{]/.test(trimmed)) {
    try {
      return { kind: "JSON", value: JSON.parse(trimmed) };
    } catch {
      return { kind: "text (no valid JSON)", value: text };
    }
  }
  return { kind: "text", value: text };
}

export function wireQuestion(question) {
  const wire = { type: question.type };
  if (question.instructions.trim()) wire.instructions = question.instructions;
  if (question.family) wire.x_family = question.family;
  if (question.type === "choice") {
    const named = question.options.filter(([name]) => name.trim());
    wire.criteria = Object.fromEntries(named.map(([name, text]) => [name, text.trim() ? text : null]));
  } else if (question.type === "score") {
    wire.criteria = question.options.map(([, text]) => text).filter((text) => text.trim());
  } else {
    const [yes, no] = question.options.map(([, text]) => (text.trim() ? text : null));
    if (yes !== null || no !== null) wire.criteria = { true: yes, false: no };
  }
  return wire;
}

// Why a question cannot be asked yet, or nothing.
export function missing(question) {
  const wire = wireQuestion(question);
  if (question.type === "choice" && Object.keys(wire.criteria).length < 2) return "Name two options or more.";
  if (question.type === "score" && wire.criteria.length < 2) return "Describe two levels or more.";
  if (question.type === "noul" && !wire.instructions && !wire.criteria) return "Write what should be decided.";
  return "";
}

export function requestOf(stateText, questions) {
  const asked = questions.filter((question) => !missing(question) && question.name);
  const wire = Object.fromEntries(asked.map((question) => [question.name, wireQuestion(question)]));
  return { model: "jev-latest", state: stateOf(stateText).value, questions: wire };
}

const asPython = (value, indent = "") => {
  const inner = `${indent}    `;
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((item) => inner + asPython(item, inner))
    : Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${asPython(item, inner)}`);
  const [open, close] = isList ? "[]" : "{}";
  return parts.length ? `${open}\n${parts.join(",\n")},\n${indent}${close}` : open + close;
};

export const code = {
  curl: (request, base, withKey) =>
    [
      `curl ${base}/v1/systemone \\`,
      ...(withKey ? [`  -H "authorization: Bearer $TYPESAFE_API_KEY" \\`] : []),
      `  -H 'content-type: application/json' \\`,
      `  -d '${JSON.stringify(request, null, 2).replaceAll("'", "'\\''")}'`,
    ].join("\n"),
  python: (request, base, withKey) =>
    `# pip install typesafe-sdk
from typesafe_sdk import TypeSafeClient

with TypeSafeClient(${withKey ? "" : 'api_key="not-needed", '}base_url=${JSON.stringify(base)}) as client:
    response = client.system_one(
        model=${JSON.stringify(request.model)},
        state=${asPython(request.state, "        ")},
        questions=${asPython(request.questions, "        ")},
    )

for name, answer in response.answers.items():
    print(name, answer)
`,
  javascript: (request, base, withKey) =>
    `// npm install @typesafe-ai/sdk
import { TypeSafeClient } from "@typesafe-ai/sdk";

const client = new TypeSafeClient({ ${withKey ? "" : 'apiKey: "not-needed", '}baseURL: ${JSON.stringify(base)} });
const response = await client.systemOne(${JSON.stringify(request, null, 2)});

console.log(response.answers);
`,
};
