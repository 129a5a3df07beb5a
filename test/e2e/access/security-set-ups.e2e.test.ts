import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Command, documentedSetUp, type SetUpName } from "../../docs/set-ups.ts";
import { world } from "../commands/exported.ts";
import { eventually, untilEqual } from "../harness/answers.ts";
import { kubeconfigOfWorker } from "../harness/infra.ts";
import { queryUdp } from "../servers/dns.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { requestToken } from "../servers/kubernetes/service-account.ts";
import { freePort } from "../servers/ports.ts";
import { ensureTool } from "../servers/tools/tools.ts";
import { Place } from "./set-ups/place.ts";

const ZONE = "clusterset.example.org";
const WEB = `web.shop.svc.${ZONE}`;
const HIDDEN = `db.payroll.svc.${ZONE}`;
const NOWHERE = `db.nothing.svc.${ZONE}`;
const CLUSTERS = ["east", "west"] as const;

let servers: ApiServer[];

/** The services of a cluster: a load balancer, and pods in two namespaces. */
async function fill({ admin }: ApiServer, index: number): Promise<void> {
  const n = index + 1;
  await admin.apply(
    ...world("shop", {
      web: { endpoints: [`10.${n}.0.1`], spec: { type: "LoadBalancer" } },
      db: { headless: true, endpoints: [`10.${n}.0.2`] },
    }),
    ...world("payroll", { db: { headless: true, endpoints: [`10.${n}.0.5`] } }),
  );
  const web = { apiVersion: "v1", kind: "Service", metadata: { namespace: "shop", name: "web" } };
  await admin.patchStatus(web, { loadBalancer: { ingress: [{ ip: `198.51.100.${n}` }] } });
}

beforeAll(async () => {
  servers = await Promise.all(CLUSTERS.map((name) => startApiServer({ name })));
  await Promise.all(servers.map(fill));
});

afterAll(async () => {
  await Promise.all((servers ?? []).map((server) => server.stop()));
});

/** The addresses of the services, for checks that hidden ones are not answered. */
const addressesIn = (text: string) => [
  ...new Set(text.match(/\b(?:10\.[12]\.0\.[125]|198\.51\.100\.[12])\b/g) ?? []),
];

describe.each([["public-lab"], ["company"], ["zero-trust"]] as const)("%s", (name: SetUpName) => {
  const { serving, pushing, asking, corefile } = documentedSetUp(name);
  let place: Place;

  beforeAll(async () => {
    place = new Place();
    await place.prepare(name);
    for (const [index, cluster] of CLUSTERS.entries()) {
      const { admin } = servers[index]!;
      copyFileSync(await kubeconfigOfWorker(servers[index]!), place.file(`${cluster}.kubeconfig`));
      if (name !== "company") continue;
      // As the documentation's two commands of kubectl ask for them.
      writeFileSync(place.file(`${cluster}.jwks`), JSON.stringify(await admin.api("GET", "/openid/v1/jwks")));
      writeFileSync(
        place.file(`${cluster}.token`),
        await requestToken(admin, "clusterset-doh", "sync-worker", 3600, ["clusterset-doh"]),
      );
    }
    await place.serve(serving);
    const workers = await Promise.all(pushing.map((line, index) => place.start(CLUSTERS[index]!, line)));
    for (const worker of workers)
      await untilEqual("a push", () => worker.log().includes("snapshot acknowledged"), true);
  });

  afterAll(async () => {
    await place?.stop();
  });

  test("the answer to a hidden name is byte for byte that of a missing name, with all header fields", async () => {
    const hidden = asking.filter(
      ({ line, expected }) => line.includes(HIDDEN) && expected.includes('"Status":3'),
    );
    expect(hidden.length).toBeGreaterThan(0);
    // In a scope the SOA serial is the time of the answer, as the header field is.
    const comparable = (text: string) =>
      text
        .replace(/^date: .*$/gim, "")
        .replaceAll(/last seen \d+ s ago/g, "")
        .replaceAll(/(hostmaster\.\S+) \d+/g, "$1");
    for (const { line } of hidden) {
      const printed = await place.run(`${line} -i`);
      const nowhere = await place.run(`${line.replace(HIDDEN, NOWHERE)} -i`);
      expect(printed).toMatch(new RegExp(`^HTTP/2 200[^]*"Status":3[^]*${HIDDEN}`));
      expect(comparable(printed.replaceAll(HIDDEN, NOWHERE))).toBe(comparable(nowhere));
    }
  });

  /** Runs a command, which must print these words and no other address. */
  async function check({ line, expected }: Command): Promise<void> {
    const printed = await place.run(line);
    for (const part of expected)
      if (/^\d{3}$/.test(part)) expect(printed).toMatch(new RegExp(` ${part}$`, "m"));
      else expect(printed).toContain(part);
    expect(addressesIn(printed).sort()).toEqual(addressesIn(expected.join(" ")).sort());
  }

  test.each(asking)("$line", check);

  if (corefile !== undefined)
    test("CoreDNS resolves with the documented Corefile, and not with another token", async () => {
      const token = readFileSync(place.file("coredns.token"), "utf8").trim();
      const ask = await startCoreDns(place, corefile, token, "NOERROR");
      expect(await ask(WEB)).toEqual(["NOERROR", "198.51.100.2"]);
      expect(await ask(HIDDEN)).toEqual(["NXDOMAIN"]);
      const stranger = await startCoreDns(place, corefile, token.slice(1), "SERVFAIL");
      expect(await stranger(WEB)).toEqual(["SERVFAIL"]);
    });

  test("rejected requests have changed nothing, and the log has no secret", async () => {
    const [first] = asking;
    await eventually(async () => addressesIn(await place.run(first!.line)).length).toBe(2);
    const secrets = readdirSync(place.folder)
      .filter((file) => /\.(?:token|password|jwt|key)$/.test(file))
      // Keys in PEM have several lines.
      .flatMap((file) => readFileSync(place.file(file), "utf8").split("\n"))
      .filter((line) => line.length > 20 && !line.startsWith("-----"));
    expect(secrets.length).toBeGreaterThan(10);
    for (const secret of secrets) expect(place.gatewayLog).not.toContain(secret);
  });
});

/** CoreDNS that forwards as documented, once it answers the name of the shop with `rcode`; how to ask it. */
async function startCoreDns(place: Place, corefile: string, token: string, rcode: string) {
  const port = await freePort();
  const name = `coredns-${port}`;
  const placed = corefile
    .replace("192.0.2.1:", `${place.address}:`)
    .replace("TOKEN", token)
    .replace(`${ZONE} {`, `${ZONE}:${port} {\n    bind 127.0.0.1`);
  writeFileSync(place.file(`${name}.conf`), placed);
  const ask = async (asked: string) => {
    const answer = await queryUdp(port, { name: asked, type: "A" });
    const { answers = [] } = answer.message;
    return [answer.rcode, ...answers.map((record) => ("data" in record ? record.data : record.type))];
  };
  const coredns = await ensureTool("coredns");
  const ready = async () => (await ask(WEB))[0] === rcode;
  await place.start(name, `'${coredns}' -conf ${name}.conf`, ready);
  return ask;
}
