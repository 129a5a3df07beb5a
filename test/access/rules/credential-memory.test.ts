import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { RuleCredentials } from "../../../src/access/admission.ts";
import { createAdmit } from "../../../src/access/admission.ts";
import type { Client } from "../../../src/access/client.ts";
import { CredentialMemory } from "../../../src/access/memory.ts";
import { inlineKeys } from "../../../src/access/oidc.ts";
import { createAccessRules } from "../../../src/access/rule.ts";
import { AUDIENCE, ISSUER, makeKey } from "../issuers.ts";

const hex = (text: string) => createHash("sha256").update(text).digest("hex");
const LAPTOPS: RuleCredentials = { name: "laptops", bearer: [hex("laptop-1"), hex("laptop-2")] };
const connection = (isOfConnection = true): Partial<Client> => ({ isOfConnection });

/** Admits requests with a bearer token, and counts how often one was hashed. */
function admission(credentials: readonly RuleCredentials[], memory = new CredentialMemory()) {
  const counted = { hashes: 0 };
  const admit = createAdmit({
    rules: createAccessRules(
      undefined,
      credentials.map(({ name }) => ({ name, scope: {} })),
    ),
    credentials,
    hostNames: [],
    publicHasTokens: false,
    clientAddress: () => undefined,
    sha256: (bytes) => {
      counted.hashes++;
      return createHash("sha256").update(bytes).digest();
    },
    memory,
  });
  const ruleOf = async (client: Partial<Client>, token: string) => {
    const header = (name: string) => (name === "authorization" ? `Bearer ${token}` : null);
    return (await admit({ url: "/dns-query", host: "", client, header })).rule?.name;
  };
  return { counted, ruleOf };
}

test("a connection's token is hashed once", async () => {
  const { counted, ruleOf } = admission([LAPTOPS]);
  const client = connection();
  for (let request = 0; request < 3; request++) expect(await ruleOf(client, "laptop-1")).toBe("laptops");
  expect(counted.hashes).toBe(1);
});

test.each(["laptop-3", "laptop-", "laptop-11"])(
  "after laptop-1, the token %s on the same connection is hashed and rejected",
  async (token) => {
    const { counted, ruleOf } = admission([LAPTOPS]);
    const client = connection();
    await ruleOf(client, "laptop-1");
    expect(await ruleOf(client, token)).toBeUndefined();
    expect(await ruleOf(client, token)).toBeUndefined();
    expect(counted.hashes).toBe(3);
    expect(await ruleOf(client, "laptop-1")).toBe("laptops");
    expect(counted.hashes).toBe(3);
  },
);

test("another valid token replaces the one before", async () => {
  const { counted, ruleOf } = admission([LAPTOPS]);
  const client = connection();
  for (const token of ["laptop-1", "laptop-2", "laptop-2", "laptop-1"])
    expect(await ruleOf(client, token)).toBe("laptops");
  expect(counted.hashes).toBe(3);
});

test("another connection has to show its own token", async () => {
  const { counted, ruleOf } = admission([LAPTOPS]);
  await ruleOf(connection(), "laptop-1");
  expect(await ruleOf(connection(), "laptop-1")).toBe("laptops");
  expect(counted.hashes).toBe(2);
});

test("nothing is remembered for clients that are known for one request only", async () => {
  const { counted, ruleOf } = admission([LAPTOPS]);
  const client = connection(false);
  await ruleOf(client, "laptop-1");
  await ruleOf(client, "laptop-1");
  expect(counted.hashes).toBe(2);
});

test("a token that is withdrawn is rejected on a connection that it was shown on", async () => {
  const client = connection();
  expect(await admission([LAPTOPS]).ruleOf(client, "laptop-1")).toBe("laptops");
  const later = admission([{ name: "laptops", bearer: [hex("laptop-2")] }]);
  expect(await later.ruleOf(client, "laptop-1")).toBeUndefined();
});

test("a token of more than 512 characters is hashed each time", async () => {
  const long = "a".repeat(600);
  const { counted, ruleOf } = admission([{ name: "laptops", bearer: [hex(long)] }]);
  const client = connection();
  for (let request = 0; request < 2; request++) expect(await ruleOf(client, long)).toBe("laptops");
  expect(counted.hashes).toBe(2);
});

test("nothing is remembered where tokens of issuers are valid, too: those expire", async () => {
  const key = await makeKey("key-1");
  const keys = inlineKeys({ keys: [key.jwk] });
  const people = {
    name: "people",
    oidc: [{ issuer: ISSUER, audience: AUDIENCE, keys, subjects: ["robot"] }],
  };
  const { counted, ruleOf } = admission([LAPTOPS, people]);
  const client = connection();
  for (let request = 0; request < 2; request++) expect(await ruleOf(client, "laptop-1")).toBe("laptops");
  expect(counted.hashes).toBe(2);
});
