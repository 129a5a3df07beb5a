import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeAuthority, makeClient, makeServer } from "../../hosts/client-certificates.ts";
import { endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { LINES_TYPE, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { runCli } from "../harness/cli.ts";
import { shorten } from "../harness/gateway-client.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";
import { queryBytes, queryUdp } from "../servers/dns.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { createServiceAccount, requestToken } from "../servers/kubernetes/service-account.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { run } from "../servers/run.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTools, type Tools } from "../servers/tools/tools.ts";

const ZONE = "clusterset.test";
const WEB = `web.shop.svc.${ZONE}`;
const DOMAIN = "doh.example.org";
const POD = "spiffe://example.org/pod";
const MESSAGE = "application/dns-message";

const token = () => randomBytes(32).toString("base64url");
const hex = (text: string) => createHash("sha256").update(text).digest("hex");

/** What each client shows. */
const secrets = { laptop: token(), next: token(), password: token(), phone: token(), admin: token() };

const headless = (address: string) =>
  exported({ headless: true, endpoints: endpoints({ address, hostname: "db-0" }) });

let tools: Tools;
let api: ApiServer;
let gateway: GatewayProcess;
let folder: string;
let hostToken: string;
let port: string;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  [tools, api] = await Promise.all([ensureTools(), startApiServer({ name: "people" })]);
  folder = temporaryFolder("access");
  hostToken = (await runCli(["token", "--host-name"])).stdout.trim();
  const authority = await makeAuthority("Test authority");
  const [server, pod, other] = await Promise.all([
    makeServer(authority, ["localhost", DOMAIN, `*.${DOMAIN}`], ["127.0.0.1"]),
    makeClient(authority, "pod", { uris: [POD] }),
    makeClient(authority, "other", { uris: [`${POD}s`] }),
  ]);
  for (const [name, { cert, key }] of Object.entries({ server, pod, other })) {
    writeFileSync(file(`${name}.crt`), cert);
    writeFileSync(file(`${name}.key`), key, { mode: 0o600 });
  }
  writeFileSync(file("ca.crt"), authority.cert);
  writeFileSync(file("laptop.token"), `${secrets.laptop}\n`);
  const scope = { namespaces: ["shop"], clusters: ["west"] };
  const jwks = await api.admin.api<{ keys: object[] }>("GET", "/openid/v1/jwks");
  gateway = await startGateway({
    clusters: ["west", "east"],
    zones: [ZONE],
    certificate: { ...server, ca: authority.cert },
    config: {
      tls: {
        certificateFile: file("server.crt"),
        keyFile: file("server.key"),
        clientCaFile: file("ca.crt"),
      },
      access: {
        hostNames: [DOMAIN],
        rules: [
          { name: "admins", bearer: [{ tokenSha256: hex(secrets.admin) }] },
          { name: "laptops", scope, bearer: [{ tokenFile: file("laptop.token") }] },
          { name: "scripts", scope, basic: [{ username: "ci", passwordSha256: hex(secrets.password) }] },
          { name: "phones", scope, pathTokens: [{ tokenSha256: hex(secrets.phone) }] },
          { name: "coredns", scope, hostTokens: [{ tokenSha256: hex(hostToken) }] },
          { name: "pods", scope, certificates: [{ san: POD }] },
          {
            name: "people",
            scope,
            oidc: [
              {
                issuer: "https://kubernetes.default.svc",
                subject: "system:serviceaccount:default:reader",
                jwks,
              },
            ],
          },
        ],
      },
    },
  });
  port = new URL(gateway.url).port;
  const worlds = [
    snapshot("west", {
      namespaces: { shop: {}, secret: {} },
      exports: {
        "shop/web": exported({ endpoints: endpoints({ address: "10.1.0.1" }) }),
        "secret/vault": exported({ endpoints: endpoints({ address: "10.1.0.2" }) }),
        "shop/db": headless("10.1.0.5"),
      },
      imports: { "shop/web": imported({ ips: ["10.9.0.1"] }) },
    }),
    snapshot("east", {
      exports: {
        "shop/web": exported({ endpoints: endpoints({ address: "10.2.0.1" }) }),
        "shop/db": headless("10.2.0.5"),
      },
      imports: { "shop/web": imported({ ips: ["10.9.0.2"] }) },
    }),
  ];
  for (const world of worlds) {
    const { clusterId } = world;
    const { status, text } = await gateway.http(`/api/v1/clusters/${clusterId}/snapshot?leaseSeconds=3600`, {
      method: "PUT",
      headers: {
        authorization: `Bearer ${gateway.tokenFor(clusterId)}`,
        "content-type": LINES_TYPE,
      },
      body: Buffer.from(snapshotBody(world)),
    });
    if (status !== 200) throw new Error(text);
  }
});

afterAll(async () => {
  await Promise.all([gateway?.stop(), api?.stop()]);
});

/** What curl prints of a question in JSON: the status, and the addresses. */
async function curl(args: readonly string[], prefix = "", host = "127.0.0.1") {
  const url = `https://${host}:${port}${prefix}/resolve?name=${WEB}&type=A`;
  const resolve = ["--resolve", `${host}:${port}:127.0.0.1`];
  const text = await run("curl", [
    "-sS",
    "--cacert",
    file("ca.crt"),
    "-w",
    "\n%{http_code}",
    ...resolve,
    ...args,
    url,
  ]);
  const [body, status] = text.trimEnd().split(/\n(?=\d+$)/) as [string, string];
  if (status !== "200") return Number(status);
  const { Answer = [] } = JSON.parse(body) as { Answer?: { data: string }[] };
  return Answer.map(({ data }) => data).sort();
}

const WEST = ["10.9.0.1"];
const bearer = (value: string) => ["-H", `authorization: Bearer ${value}`];
const certificate = (name: string) => ["--cert", file(`${name}.crt`), "--key", file(`${name}.key`)];

describe("curl", () => {
  test.each([[["--http2"]], [["--http1.1"]]])(
    "by every kind of credential, and by wrong ones (%j)",
    async (version) => {
      const ask = (args: readonly string[], ...more: string[]) => curl([...version, ...args], ...more);
      expect(await ask(bearer(secrets.laptop))).toEqual(WEST);
      expect(await ask(bearer(secrets.admin))).toEqual(["10.9.0.1", "10.9.0.2"]);
      expect(await ask(["--user", `ci:${secrets.password}`])).toEqual(WEST);
      expect(await ask([], `/tokens/${secrets.phone}`)).toEqual(WEST);
      expect(await ask([], "", `${hostToken}.${DOMAIN}`)).toEqual(WEST);
      expect(await ask([], "", `${hostToken.toUpperCase()}.${DOMAIN}`)).toEqual(WEST);
      expect(await ask(certificate("pod"))).toEqual(WEST);
      for (const refused of [
        await ask([]),
        await ask(bearer(secrets.phone)),
        await ask(["--user", "ci:wrong"]),
        await ask([], `/tokens/${secrets.laptop}`),
        await ask([], "", `${hostToken.slice(1)}.${DOMAIN}`),
      ])
        expect(refused).toBe(401);
      expect(await ask(certificate("other"))).toBe(403);
    },
  );

  test("resolves names with a token in the path of --doh-url", async () => {
    const { stderr } = await verbose([
      ...["--doh-url", `https://localhost:${port}/tokens/${secrets.phone}/dns-query`],
      ...["--max-time", "2", `http://${WEB}:9/`],
    ]);
    expect(stderr).toContain("10.9.0.1:9");
    expect(stderr).not.toContain("10.9.0.2");
  });
});

/** The output of curl for a page that does not exist. */
async function verbose(args: readonly string[]) {
  const line = ["curl", "-v", "--cacert", file("ca.crt"), ...args].map((word) => `'${word}'`).join(" ");
  return { stderr: await run("bash", ["-c", `${line} 2>&1 || true`]) };
}

describe("dig and kdig", () => {
  const at = ["@127.0.0.1", "-p"];
  test.each([
    ["dig", ["+https="], []],
    ["dig", ["+https-get="], []],
    ["kdig", ["+https="], []],
    ["kdig", ["+https="], ["+https-get"]],
  ])("%s %j%j with a token in the path", async (program, [flag], more) => {
    const path = (value: string) => `${flag}/tokens/${value}/dns-query`;
    const ask = (value: string) => run(program, [path(value), ...more, ...at, port, "+short", WEB, "A"]);
    expect((await ask(secrets.phone)).trim()).toBe("10.9.0.1");
    const refused = await ask(secrets.laptop).catch((error: Error) => error.message);
    expect(refused).not.toContain("10.9.0");
  });

  test("kdig with a client certificate", async () => {
    const ask = (name: string) =>
      run("kdig", [
        ...["+https", ...at, port, `+tls-ca=${file("ca.crt")}`, "+tls-hostname=localhost", "+short"],
        ...[`+tls-certfile=${file(`${name}.crt`)}`, `+tls-keyfile=${file(`${name}.key`)}`, WEB, "A"],
      ]);
    expect((await ask("pod")).trim()).toBe("10.9.0.1");
    const refused = await ask("other").catch((error: Error) => error.message);
    expect(refused).not.toContain("10.9.0");
  });
});

test("CoreDNS forwards with the file of /setup for a token in the host name", async () => {
  const host = `${hostToken}.${DOMAIN}`;
  const url = `https://${host}:${port}/setup/coredns/Corefile?zone=${ZONE}`;
  const made = await run("curl", [
    ...["-sSf", "--cacert", file("ca.crt"), "--resolve", `${host}:${port}:127.0.0.1`, url],
  ]);
  expect(made).toContain(`tls_servername ${host}`);
  const dnsPort = await freePort();
  const corefile = made
    .replace("GATEWAY_ADDRESS", "127.0.0.1")
    .replace(`${ZONE}:53 {`, `${ZONE}:${dnsPort} {\n    bind 127.0.0.1`);
  writeFileSync(file("Corefile"), corefile);
  const coredns = await ServerProcess.start({
    name: "coredns",
    command: tools.coredns,
    args: ["-conf", file("Corefile")],
    folder,
    env: { SSL_CERT_FILE: file("ca.crt") },
    ready: async () => (await queryUdp(dnsPort, { name: WEB, type: "A" })).rcode === "NOERROR",
  });
  try {
    expect(shorten(await queryUdp(dnsPort, { name: WEB, type: "A" }))).toMatchObject({ values: WEST });
    const hidden = await queryUdp(dnsPort, { name: `vault.secret.svc.${ZONE}`, type: "A" });
    expect(hidden.rcode).toBe("NXDOMAIN");
  } finally {
    await coredns.stop();
  }
});

test("only the configured ServiceAccount's token of a kube-apiserver admits queries", async () => {
  const rights = [{ apiGroups: [""], resources: ["namespaces"], verbs: ["list"] }];
  await createServiceAccount(api.admin, "default", "reader", rights);
  await createServiceAccount(api.admin, "default", "other", rights);
  const tokenOf = (name: string, audiences?: string[]) =>
    requestToken(api.admin, "default", name, 3600, audiences);
  expect(await curl(bearer(await tokenOf("reader", ["clusterset-doh"])))).toEqual(WEST);
  expect(await curl(bearer(await tokenOf("other", ["clusterset-doh"])))).toBe(403);
  const forApiServer = await tokenOf("reader");
  expect(await curl(bearer(forApiServer))).toBe(401);
  for (const secret of [forApiServer.split(".")[2]!, ...Object.values(secrets)])
    expect(gateway.process.log()).not.toContain(secret);
});

describe("a hidden name", () => {
  /** A response, with what names the question taken out of it. */
  async function answerTo(
    name: string,
    type: "A" | "SRV" | "PTR",
    method: "GET" | "POST",
    path: string,
    secret = secrets.laptop,
  ) {
    const query = queryBytes({ name, type, edns: true }, 0);
    const dispatcher = new Agent({ allowH2: true, connect: { ca: gateway.ca } });
    try {
      const get = `?dns=${query.toString("base64url")}`;
      const { statusCode, headers, body } = await request(
        `${gateway.url}${path}${method === "GET" ? get : ""}`,
        {
          dispatcher,
          method,
          headers: {
            authorization: `Bearer ${secret}`,
            ...(method === "POST" && { "content-type": MESSAGE }),
          },
          body: method === "POST" ? query : null,
        },
      );
      const { date: _, ...others } = headers;
      const answer = Buffer.from(await body.arrayBuffer()).toString("hex");
      const question = query.subarray(12, -11).toString("hex");
      expect(answer).toContain(question);
      return { statusCode, headers: others, answer: answer.replace(question, "") };
    } finally {
      await dispatcher.destroy();
    }
  }

  test.each([
    ["a namespace", "A", `vault.secret.svc.${ZONE}`, `vault.nobody.svc.${ZONE}`],
    ["a cluster's endpoint", "A", `db-0.east.db.shop.svc.${ZONE}`, `db-0.none.db.shop.svc.${ZONE}`],
    ["a clusterset IP", "PTR", "2.0.9.10.in-addr.arpa", "3.0.9.10.in-addr.arpa"],
    ["an endpoint's address", "PTR", "5.0.2.10.in-addr.arpa", "5.0.3.10.in-addr.arpa"],
  ] as const)("of %s is byte for byte what a name is that is not there", async (_, type, hidden, nothing) => {
    const everything = await answerTo(hidden, type, "POST", "/dns-query", secrets.admin);
    for (const method of ["GET", "POST"] as const)
      for (const path of ["/dns-query", "/clusters/west/dns-query"]) {
        const answer = await answerTo(hidden, type, method, path);
        expect(answer).toEqual(await answerTo(nothing, type, method, path));
        expect(answer.answer).not.toBe(everything.answer);
      }
  });

  test("the path of a hidden cluster is answered like that of a missing cluster", async () => {
    const bare = async (clusterId: string) => {
      const { status, headers, text } = await gateway.http(`/clusters/${clusterId}/resolve?name=${WEB}`, {
        headers: { authorization: `Bearer ${secrets.laptop}` },
      });
      const { date: _, ...others } = headers;
      return { status, others, text };
    };
    expect(await bare("east")).toEqual(await bare("none"));
    expect((await bare("west")).status).toBe(200);
  });
});

test("on other addresses than loopback the gateway does not start without a stated choice", async () => {
  const { code, stderr } = await runCli(["serve", "--listen", "0.0.0.0:0", "--state-dir", file("state")]);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/other machines reach 0\.0\.0\.0:0.*--public/)]);
});
