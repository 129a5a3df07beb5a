import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { createAdmit, type RuleCredentials } from "../../../src/access/admission.ts";
import type { Client } from "../../../src/access/client.ts";
import { CredentialMemory } from "../../../src/access/memory.ts";
import { inlineKeys } from "../../../src/access/oidc.ts";
import { createAccessRules } from "../../../src/access/rule.ts";
import { sha256 } from "../authorities.ts";
import { AUDIENCE, ISSUER, makeKey } from "../issuers.ts";

const LONG = "a".repeat(600);
const LAPTOPS: RuleCredentials = {
  name: "laptops",
  bearer: [sha256("laptop-1"), sha256("laptop-2"), sha256(LONG)],
};
const connection = (isOfConnection = true): Partial<Client> => ({ isOfConnection });

/** Admits requests with a bearer token, and counts how often one was hashed. */
function admission(credentials: readonly RuleCredentials[]) {
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
    memory: new CredentialMemory(),
  });
  const ruleOf = async (client: Partial<Client>, token: string) => {
    const header = (name: string) => (name === "authorization" ? `Bearer ${token}` : null);
    return (await admit({ url: "/dns-query", host: "", client, header })).rule?.name;
  };
  return { counted, ruleOf };
}

test.each<[string, tokens: string, hashes: number, connection?: boolean]>([
  ["a connection's token is hashed once", "laptop-1 laptop-1 laptop-1", 1],
  ["another valid token replaces the one before", "laptop-1 laptop-2 laptop-2 laptop-1", 3],
  ["an unknown token is hashed each time, and replaces none", "laptop-1 !laptop-3 !laptop-3 laptop-1", 3],
  ["so is a shorter one", "laptop-1 !laptop- !laptop- laptop-1", 3],
  ["so is a longer one", "laptop-1 !laptop-11 !laptop-11 laptop-1", 3],
  ["a client that is known for one request only is not remembered", "laptop-1 laptop-1", 2, false],
  ["a token of more than 512 characters is hashed each time", `${LONG} ${LONG}`, 2],
])("%s", async (_, tokens, hashes, isOfConnection) => {
  const { counted, ruleOf } = admission([LAPTOPS]);
  const client = connection(isOfConnection);
  for (const token of tokens.split(" "))
    expect(await ruleOf(client, token.replace("!", "")), token).toBe(
      token.startsWith("!") ? undefined : "laptops",
    );
  expect(counted.hashes).toBe(hashes);
});

test("another connection has to show its own token", async () => {
  const { counted, ruleOf } = admission([LAPTOPS]);
  for (let request = 0; request < 2; request++)
    expect(await ruleOf(connection(), "laptop-1")).toBe("laptops");
  expect(counted.hashes).toBe(2);
});

test("a token that is withdrawn is rejected on a connection that it was shown on", async () => {
  const client = connection();
  expect(await admission([LAPTOPS]).ruleOf(client, "laptop-1")).toBe("laptops");
  const later = admission([{ name: "laptops", bearer: [sha256("laptop-2")] }]);
  expect(await later.ruleOf(client, "laptop-1")).toBeUndefined();
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
