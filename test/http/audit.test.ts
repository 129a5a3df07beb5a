import { describe, expect, it } from "vitest";
import { QueryCounters } from "../../src/answer/query-counters.ts";
import { createPushForward } from "../../src/assembly/push-forward.ts";
import { AuditLog, auditTurnedAway } from "../../src/http/audit.ts";
import type { AuditEntry } from "../../src/http/messages/environment.ts";
import { createReject } from "../../src/http/messages/errors.ts";
import { FetchRequest } from "../../src/http/messages/message.ts";
import { createRequestGate } from "../../src/http/request-gate.ts";
import type { ClientRate } from "../../src/limits/client-rate.ts";
import { LimitCounters } from "../../src/limits/counters.ts";
import type { Load } from "../../src/limits/load.ts";
import { authorityOf } from "../access/authorities.ts";
import { sha256 } from "./push/push-api.ts";

function openLog(rate = { perSecond: 1, burst: 2 }) {
  const lines: AuditEntry[] = [];
  const counters = new LimitCounters();
  const clock = { now: 0 };
  const audit = new AuditLog(
    (line) => lines.push(line),
    rate,
    counters,
    () => clock.now,
  );
  const leftOut = () => counters.counts().get("audit.linesPerSecond");
  return { audit, lines, clock, leftOut };
}
const refused = (client: string): AuditEntry => ({ action: "push", outcome: "refused", status: 401, client });
const accepted: AuditEntry = {
  action: "push",
  outcome: "accepted",
  status: 200,
  credential: "east",
  client: "192.0.2.1",
};

describe("the audit log", () => {
  it("leaves lines of a source out above its rate, counts them, and has room again later", () => {
    const { audit, lines, clock, leftOut } = openLog();
    for (let attempt = 0; attempt < 5; attempt++) audit.record(refused("192.0.2.1"));
    expect([lines.length, leftOut()]).toEqual([2, 3]);
    clock.now = 1000;
    audit.record(refused("192.0.2.1"));
    audit.record(refused("192.0.2.2"));
    expect(lines.slice(2).map((line) => line.leftOut)).toEqual([3, undefined]);
  });

  it("takes all addresses of an IPv6 /64 as one source", () => {
    const { audit, lines } = openLog();
    for (let host = 0; host < 5; host++) audit.record(refused(`2001:db8::${host}`));
    audit.record(refused("2001:db8:0:1::1"));
    expect(lines.map(({ client }) => client)).toEqual(["2001:db8::0", "2001:db8::1", "2001:db8:0:1::1"]);
  });

  it("leaves a known credential its lines while strangers flood", () => {
    const { audit, lines, leftOut } = openLog();
    for (let network = 0; network < 100; network++) audit.record(refused(`192.0.2.${network}`));
    expect([lines.length, leftOut()]).toEqual([20, 80]);
    audit.record(accepted);
    expect(lines.at(-1)).toEqual({ ...accepted, leftOut: 80 });
  });

  it("cuts texts that others chose", () => {
    const { audit, lines } = openLog();
    audit.record({ ...refused("192.0.2.1"), cluster: "x".repeat(10_000), reason: "y".repeat(10_000) });
    expect([lines[0]?.cluster?.length, lines[0]?.reason?.length]).toEqual([500, 500]);
  });

  it("has pushes that a front rejects; those that the primary answers are in the primary's", async () => {
    const { audit, lines } = openLog({ perSecond: 1, burst: 10 });
    const routes = createPushForward({
      audit,
      clientAddress: ({ client }) => client?.address,
      authority: authorityOf([{ clusterId: "west", tokenSha256: sha256("west-token") }]),
      send: async () => Response.json({ generation: 1 }),
      unreachable: { status: 503, code: "BUSY", message: "no object" },
      onChange: () => {},
      log: () => {},
    });
    const send = (token: string) =>
      routes.request(
        "/west/snapshot",
        { method: "PUT", headers: { authorization: `Bearer ${token}` } },
        { client: { address: "192.0.2.9" } },
      );
    await send("west-token");
    expect(lines).toEqual([]);
    await send("stranger");
    expect(lines).toMatchObject([
      { action: "forward", status: 401, code: "UNKNOWN_TOKEN", cluster: "west", client: "192.0.2.9" },
    ]);
  });

  it.each([
    ["PUT", "/api/v1/clusters/west/snapshot", { action: "push", cluster: "west" }],
    ["PATCH", "/api/v1/clusters/west/snapshot", { action: "patch", cluster: "west" }],
    ["DELETE", "/api/v1/clusters/west", { action: "leave", cluster: "west" }],
    ["constructor", "/api/v1/clusters/west", { action: "read", cluster: "west" }],
    ["GET", "/api/v1/transfer/state", { action: "transfer" }],
    ["POST", "/federations/fed", { action: "register", federation: "fed" }],
    ["GET", "/dns-sets", undefined],
  ])("has %s %s of a client that sends too many requests: %j", (method, path, expected) => {
    const { audit, lines } = openLog();
    const gate = createRequestGate({
      rate: { take: () => 5 } as unknown as ClientRate,
      counters: new LimitCounters(),
      reject: (_, status) => ({ status, headers: {}, body: null }),
      onRejection: auditTurnedAway({ audit, clientAddress: () => "192.0.2.1" }),
    })!;
    gate(new FetchRequest(new Request(`https://gateway${path}`, { method }), undefined));
    expect(lines).toMatchObject(
      expected === undefined
        ? []
        : [{ ...expected, outcome: "refused", status: 429, code: "TOO_MANY_REQUESTS" }],
    );
  });

  it.each([
    ["a client's rate", { rate: { take: () => 5 } as unknown as ClientRate }],
    ["load", { load: { isHigh: true } as Load }],
  ])("has the status, code and reason of the response to a request that is rejected for %s", (_, limit) => {
    const { audit, lines } = openLog();
    const gate = createRequestGate({
      ...limit,
      counters: new LimitCounters(),
      reject: createReject([], new QueryCounters()),
      onRejection: auditTurnedAway({ audit, clientAddress: () => "192.0.2.1" }),
    })!;
    const request = new Request("https://gateway/api/v1/clusters/west");
    const { status, body } = gate(new FetchRequest(request, undefined))!;
    const { code, message: reason } = JSON.parse(new TextDecoder().decode(body!));
    expect(lines).toMatchObject([{ status, code, reason }]);
  });
});
