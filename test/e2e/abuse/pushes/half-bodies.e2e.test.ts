import { once } from "node:events";
import { connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LINES_TYPE, pushed } from "../../../snapshot/lines/push-lines.ts";
import { headlessExport, shopSnapshot } from "../../../snapshot/worlds.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { openTls } from "../harness/slow-client.ts";

const KIB = 1024;
/** Two whole bodies fill the common budget. */
const LIMITS = { pushBytes: 512 * KIB, pushBytesInFlight: 1024 * KIB, pushIdleSeconds: 3 };
const HALF = Buffer.from(`[${" ".repeat(LIMITS.pushBytes - 8)}`);
const DECLARED = LIMITS.pushBytes + 1000;
const ATTACKERS = ["hostile-a", "hostile-b"];

/** A body that its sender never ends. */
interface HalfBody {
  /** Resolves with the status of its response. */
  readonly status: Promise<number>;
  close(): void;
}

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({
    clusters: [...ATTACKERS, "healthy"],
    leaseSeconds: 60,
    config: { limits: LIMITS },
  });
});
afterAll(() => gateway?.stop());

const path = (clusterId: string) => `/api/v1/clusters/${clusterId}/snapshot`;
const fields = (clusterId: string) => ({
  authorization: `Bearer ${gateway.tokenFor(clusterId)}`,
  "content-type": LINES_TYPE,
});

async function overHttp1(clusterId: string): Promise<HalfBody> {
  const socket = await openTls(Number(new URL(gateway.url).port), gateway.ca, "http/1.1");
  const status = once(socket, "data").then(([part]) =>
    Number(/^HTTP\/1.1 (\d+)/.exec(part.toString("latin1"))?.[1]),
  );
  const named = { host: "localhost", "content-length": String(DECLARED), ...fields(clusterId) };
  const head = Object.entries(named).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`PUT ${path(clusterId)} HTTP/1.1\r\n${head.join("")}\r\n`);
  await new Promise<void>((sent) => socket.write(HALF, () => sent()));
  return { status, close: () => socket.destroy() };
}

async function overHttp2(clusterId: string): Promise<HalfBody> {
  const session = connect(gateway.url, { ca: gateway.ca });
  session.on("error", () => {});
  const stream = session.request({
    ":method": "PUT",
    ":path": path(clusterId),
    "content-length": DECLARED,
    ...fields(clusterId),
  });
  stream.on("error", () => {});
  const status = once(stream, "response").then(([headers]) => Number(headers[":status"]));
  await Promise.race([new Promise<void>((sent) => stream.write(HALF, () => sent())), status]);
  return { status, close: () => session.destroy() };
}

const send = async (method: string, target: string, body: object) => {
  const { authorization } = fields("healthy");
  const answer = await gateway.http(...pushed(method, target, body, { authorization }));
  return { status: answer.status, ...answer.json<{ generation: number; code?: string }>() };
};

describe.each([
  ["HTTP/1.1", overHttp1],
  ["HTTP/2", overHttp2],
])("half-sent bodies of other clusters over %s", (_, halfBody) => {
  test("keep out no renewal and no delta, however many there are, and are cut off with 408", async () => {
    const first = await send("PUT", path("healthy"), shopSnapshot("healthy"));
    expect(first).toMatchObject({ status: 200 });
    // Two of each: more than the common budget holds.
    const bodies = await Promise.all([...ATTACKERS, ...ATTACKERS].map(halfBody));
    const lease = "/api/v1/clusters/healthy/lease";
    expect(await send("POST", lease, first)).toMatchObject({ status: 422 });
    expect(await send("POST", lease, { generation: first.generation })).toMatchObject({ status: 200 });
    const patch = { exports: { "shop/more": headlessExport(1) } };
    const delta = await send("PATCH", path("healthy"), { baseGeneration: first.generation, patch });
    expect(delta).toMatchObject({ status: 200 });
    expect(await send("POST", lease, { generation: delta.generation })).toMatchObject({ status: 200 });
    expect(await gateway.lookup("more.shop.svc.clusterset.local", "A")).toMatchObject({
      values: ["10.0.0.0"],
    });
    // The second body of each cluster exceeds its own share; the others end when they are silent for too long.
    const statuses = await Promise.all(bodies.map(({ status }) => status));
    expect(statuses.sort()).toEqual([408, 408, 429, 429]);
    for (const body of bodies) body.close();
    const whole = { ...shopSnapshot("healthy", 3000) };
    expect(await send("PUT", path("healthy"), whole)).toMatchObject({ status: 200 });
  });
});
