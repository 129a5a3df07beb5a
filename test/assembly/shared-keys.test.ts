import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createEdgeAccess } from "../../src/assembly/credentials.ts";
import { readEdgeConfig, readPushCredentials } from "../../src/config/edge-config.ts";
import { openIssuers } from "../../src/hosts/node/access/node-authority.ts";
import { WatchedFiles } from "../../src/hosts/node/files.ts";
import { AUDIENCE, ISSUER, makeKey, type SigningKey } from "../access/issuers.ts";

let key: SigningKey;
let requests: (string | undefined)[];
const server = createServer(({ url }, response) => {
  requests.push(url);
  response.end(JSON.stringify({ keys: [key.jwk] }));
});
beforeEach(async () => {
  key = await makeKey("key-1");
  requests = [];
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
});
afterEach(() => void server.close().closeAllConnections());

/** Tokens with keys at a path of the server. */
const issuedAt = (path: string, issuer = ISSUER) => ({
  issuer,
  audience: AUDIENCE,
  jwksUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
});
/** Three with keys from one place, and two from others. */
const credentials = () => [
  ...[1, 2, 3].map(() => issuedAt("/one")),
  issuedAt("/two"),
  issuedAt("/one", "https://other.example"),
];
const FETCHED = ["/one", "/one", "/two"];

test("credentials with one issuer and one place of its keys fetch them once, on Node", async () => {
  const issued = credentials();
  const issuers = await openIssuers(issued, new WatchedFiles(), () => {});
  const header = { alg: "ES256", kid: "key-1" };
  for (const one of issued) await issuers.keysOf(one).key(header, { payload: "", signature: "" });
  await issuers.close();
  expect(requests.toSorted()).toEqual(FETCHED);
});

test("credentials with one issuer and one place of its keys fetch them once, on an edge", async () => {
  const pushing = credentials().map((oidc, index) => ({
    clusterId: `c${index}`,
    oidc: { ...oidc, subject: "a" },
  }));
  const { authority } = createEdgeAccess(
    readEdgeConfig({}),
    readPushCredentials(JSON.stringify(pushing)),
    () => {},
  );
  for (const iss of [ISSUER, "https://other.example"])
    await authority.clustersOf(`Bearer ${await key.token({ iss })}`);
  expect(requests.toSorted()).toEqual(FETCHED);
});
