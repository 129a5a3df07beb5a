import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ISSUER, makeKey, NOW, type SigningKey } from "../../access/issuers.ts";
import { makeAuthority, makeClient, makeServer, type PemPair } from "../../hosts/client-certificates.ts";
import { eventually, untilEqual } from "../harness/answers.ts";
import { shorten } from "../harness/gateway-client.ts";
import { writeDatabase } from "../harness/manifests.ts";
import { MovedClock } from "../harness/moved-clock.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { queryDoh } from "../servers/dns.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const CLUSTERS = ["east", "west", "north"] as const;
const SAN = "spiffe://example.org/cluster/north";
const folder = temporaryFolder("rotation");
const at = (name: string) => join(folder, name);
const newToken = () => randomBytes(32).toString("base64url");

/** Replaces a file at once: nobody reads half of it. */
function put(name: string, ...lines: string[]): void {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(`${name}.draft`), `${lines.join("\n")}\n`, { mode: 0o600 });
  renameSync(at(`${name}.draft`), at(name));
}

/**
 * Replaces a certificate together with its key, as kubelets replace the files of a Secret: by another link to
 * their folder.
 */
function putPair(name: string, { cert, key }: PemPair): void {
  const version = `${name}-${randomBytes(4).toString("hex")}`;
  put(`${version}/tls.crt`, cert);
  put(`${version}/tls.key`, key);
  rmSync(at(`${name}.draft`), { force: true });
  symlinkSync(at(version), at(`${name}.draft`));
  renameSync(at(`${name}.draft`), at(name));
}

function putManifests(cluster: string, change: number): void {
  const address = `10.${CLUSTERS.indexOf(cluster as "east") + 1}.${change >> 8}.${change & 255}`;
  writeDatabase(at(`manifests/${cluster}`), { port: 5432, endpoints: [{ address }] });
}

let gateway: GatewayProcess;
/** Of the gateway, which reads files again every 10 seconds. */
const clock = new MovedClock({ timers: true });
let authorities: { server: PemPair; clients: PemPair };
let signingKey: SigningKey;
const workers = new Map<string, SyncProcess>();
const failed: string[] = [];
let asked = 0;
let changes = 0;
let going = true;
let asking: Promise<void>;

const token = (key: SigningKey) => key.token({ exp: Math.floor((Date.now() - NOW) / 1000) + 3600 });
const tokenIn = (name: string) => readFileSync(at(name), "utf8").trim();

const query = (bearer: string) =>
  queryDoh(
    `${gateway.url}/dns-query`,
    { name: "db.shop.svc.clusterset.local", type: "A" },
    { ca: readFileSync(at("client-trust.crt"), "utf8"), headers: { authorization: `Bearer ${bearer}` } },
  );
/** The answer's rcode, or the error. */
const ask = (bearer: string): Promise<string> =>
  query(bearer).then(
    ({ rcode }) => rcode,
    (error: Error) => error.message,
  );

/**
 * Queries, each over a new connection and with the token that the client has just then, and changes in each
 * cluster.
 */
async function askAndChange(): Promise<void> {
  while (going) {
    const outcome = await ask(tokenIn("client.token"));
    asked++;
    if (outcome !== "NOERROR") failed.push(outcome);
    changes++;
    for (const cluster of CLUSTERS) putManifests(cluster, changes);
  }
}

/** The status of a cluster for the bearer of a token: 200 if it may push. */
async function statusFor(cluster: string, bearer: string): Promise<number> {
  return (
    await gateway.http(`/api/v1/clusters/${cluster}`, { headers: { authorization: `Bearer ${bearer}` } })
  ).status;
}

/** A worker that pushes the manifests of a cluster with these credentials. */
function startWorker(clusterId: string, ...credentials: string[]): void {
  // The gateway's clock is moved: that must not be what ends a lease.
  const args = ["--ca-file", at("worker-trust.crt"), "--lease", "600", ...credentials];
  const manifests = at(`manifests/${clusterId}`);
  workers.set(
    clusterId,
    startSync({ clusterId, manifests, gateways: [{ ...gateway, ca: "" }], tokenFile: "", args }),
  );
}

beforeAll(async () => {
  authorities = { server: await makeAuthority("Servers"), clients: await makeAuthority("Clients") };
  signingKey = await makeKey("one");
  const server = await makeServer(authorities.server, ["localhost"], ["127.0.0.1"]);
  putPair("server", server);
  putPair("north", await makeClient(authorities.clients, "north", { uris: [SAN] }));
  put("clients.crt", authorities.clients.cert);
  for (const trust of ["client-trust.crt", "worker-trust.crt"]) put(trust, authorities.server.cert);
  for (const name of ["client.token", "east.token"]) put(name, newToken());
  put("team.tokens", tokenIn("client.token"));
  put("east.tokens", tokenIn("east.token"));
  put("west.token", await token(signingKey));
  put("west.jwks", JSON.stringify({ keys: [signingKey.jwk] }));
  for (const cluster of CLUSTERS) putManifests(cluster, 0);
  const subject = "system:serviceaccount:clusterset-doh:sync-worker";
  gateway = await startGateway({
    env: clock.env,
    certificate: { ...server, ca: authorities.server.cert },
    config: {
      tls: {
        certificateFile: at("server/tls.crt"),
        keyFile: at("server/tls.key"),
        clientCaFile: at("clients.crt"),
      },
      access: { rules: [{ name: "team", bearer: [{ tokenFile: at("team.tokens") }] }] },
      push: {
        credentials: [
          { clusterId: "east", tokenFile: at("east.tokens") },
          { clusterId: "west", oidc: { issuer: ISSUER, subject, jwksFile: at("west.jwks") } },
          { clusterId: "north", certificate: { san: SAN } },
        ],
      },
    },
  });
  startWorker("east", "--token-file", at("east.token"));
  startWorker("west", "--token-file", at("west.token"));
  startWorker("north", "--client-cert-file", at("north/tls.crt"), "--client-key-file", at("north/tls.key"));
  for (const worker of workers.values())
    await untilEqual("a push", () => worker.log().includes("snapshot acknowledged"), true);
  asking = askAndChange();
});

afterAll(async () => {
  going = false;
  await asking;
  await Promise.all([...workers.values()].map((worker) => worker.stop()));
  await gateway?.stop();
});

/** Until some more queries and changes have passed; none of them may have failed. */
async function expectNoGap(): Promise<void> {
  const before = asked;
  await eventually(() => asked - before).toBeGreaterThan(15);
  const newest = changes;
  /** The change of each cluster that is answered. */
  const answered = async () => {
    const { values } = shorten(await query(tokenIn("client.token")));
    return values
      .map((address) => address.split(".").map(Number))
      .map(([, , high, low]) => high! * 256 + low!);
  };
  await eventually(async () => (await answered()).filter((change) => change >= newest)).toHaveLength(
    CLUSTERS.length,
  );
  expect(failed).toEqual([]);
  for (const worker of workers.values()) expect(worker.log()).not.toMatch(/"level":"(?:warn|error)"/);
}

/** The three steps of each rotation, and how the gateway shows that it has taken the first and the last. */
interface Rotation {
  readonly add: () => void;
  readonly isAdded: () => Promise<boolean> | boolean;
  readonly move: () => Promise<void> | void;
  readonly remove: () => void;
  readonly isRemoved: () => Promise<boolean> | boolean;
}

function rotateToken(list: string, sent: string, statusOf: (token: string) => Promise<number>): Rotation {
  const [old, next] = [tokenIn(sent), newToken()];
  return {
    add: () => put(list, old, next),
    isAdded: async () => (await statusOf(next)) === 200,
    move: () => put(sent, next),
    remove: () => put(list, next),
    isRemoved: async () => (await statusOf(old)) === 401,
  };
}

async function rotateSigningKey(): Promise<Rotation> {
  const old = tokenIn("west.token");
  const next = await makeKey("two");
  const renewed = await token(next);
  return {
    add: () => put("west.jwks", JSON.stringify({ keys: [signingKey.jwk, next.jwk] })),
    isAdded: async () => (await statusFor("west", renewed)) === 200,
    move: () => put("west.token", renewed),
    remove: () => put("west.jwks", JSON.stringify({ keys: [next.jwk] })),
    isRemoved: async () => (await statusFor("west", old)) === 401,
  };
}

/** Both authorities at once; the gateway's own certificate is of the new one from the second step on. */
async function rotateAuthorities(): Promise<Rotation> {
  const servers = await makeAuthority("Servers from now on");
  const clients = await makeAuthority("Clients from now on");
  const server = await makeServer(servers, ["localhost"], ["127.0.0.1"]);
  const client = await makeClient(clients, "north", { uris: [SAN] });
  const renewals = () => gateway.process.log().split('"certificate-renewed"').length;
  let before = renewals();
  return {
    add: () => {
      put("clients.crt", authorities.clients.cert, clients.cert);
      for (const trust of [at("client-trust.crt"), at("worker-trust.crt"), gateway.caFile])
        writeFileSync(trust, `${authorities.server.cert}\n${servers.cert}\n`);
    },
    isAdded: () => renewals() > before,
    move: async () => {
      before = renewals();
      // A worker reads the file of --ca-file when it starts.
      for (const worker of workers.values()) await worker.restart();
      putPair("north", client);
      putPair("server", server);
      await eventually(clock.passing(renewals)).toBeGreaterThan(before);
      before = renewals();
    },
    remove: () => {
      put("clients.crt", clients.cert);
      put("client-trust.crt", servers.cert);
    },
    isRemoved: () => renewals() > before,
  };
}

describe("docs/how-to/rotate.md, while queries and pushes go on", () => {
  let rotations: Rotation[];

  test("the new token, key and authority are added to the old ones", async () => {
    const statusOfQuery = async (bearer: string) => ((await ask(bearer)) === "NOERROR" ? 200 : 401);
    rotations = [
      rotateToken("east.tokens", "east.token", (bearer) => statusFor("east", bearer)),
      rotateToken("team.tokens", "client.token", statusOfQuery),
      await rotateSigningKey(),
      await rotateAuthorities(),
    ];
    for (const { add } of rotations) add();
    for (const { isAdded } of rotations) await eventually(clock.passing(isAdded)).toBe(true);
    await expectNoGap();
  });

  test("workers, clients and the gateway move over to the new ones", async () => {
    for (const { move } of rotations) await move();
    await expectNoGap();
  });

  test("the old ones are removed, and get 401 or 403", async () => {
    for (const { remove } of rotations) remove();
    for (const { isRemoved } of rotations) await eventually(clock.passing(isRemoved)).toBe(true);
    await expectNoGap();
  });
});
