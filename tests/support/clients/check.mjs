// The official JavaScript client against a server: node check.mjs URL. Fails on the first thing that is not so.
import assert from "node:assert/strict";
import { choice, noul, score, TypeSafeClient } from "@typesafe-ai/sdk";

const client = new TypeSafeClient({ apiKey: "local-dummy", baseURL: process.argv[2] });
const models = await client.models.list();
assert(models.some((model) => model.name === "jev-latest"));

const questions = {
  "lost 📦": noul("Is the parcel probably lost?"),
  queue: choice("Who takes it?", { carrier: "Ask the carrier", refund: { x: [1] }, other: null }),
  heat: score("How upset?", ["calm", "irritated", { label: "furious" }]),
};
for (const state of ["text", { a: { b: [1, null] } }, ["x", 2], "long ".repeat(1000)]) {
  const { data, response } = await client.systemOne({ state, questions }).withResponse();
  assert.deepEqual(Object.keys(data.answers).sort(), Object.keys(questions).sort());
  assert(data.answers["lost 📦"].noul >= 0 && data.answers["lost 📦"].noul <= 1);
  const shares = Object.values(data.answers.queue.probabilities);
  assert(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 1e-9);
  assert.equal(data.answers.heat.legend["2"].label, "furious");
  assert.match(response.headers.get("x-typesafe-request-id"), /^req_/);
}
await Promise.all(Array.from({ length: 40 }, (_, number) => client.systemOne({ state: `state ${number}`, questions })));
await assert.rejects(client.systemOne({ state: "x", questions, model: "jev-9" }), (error) => error.status === 400);
console.log("javascript client: all is well");
