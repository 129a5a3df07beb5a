import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { apiRoute } from "../../src/http/api-routes.ts";
import { AuditLog, auditAnswers } from "../../src/http/audit.ts";
import type { Code } from "../../src/http/messages/codes.ts";
import type { AppEnvironment, AuditEntry } from "../../src/http/messages/environment.ts";
import { ApiError } from "../../src/http/messages/errors.ts";
import type { ClientRate } from "../../src/limits/client-rate.ts";
import { LimitCounters } from "../../src/limits/counters.ts";
import { readJsonLine } from "../../src/snapshot/lines/json-syntax.ts";
import { SnapshotError } from "../../src/snapshot/parse.ts";
import { apiRoutes, openApp } from "./open-app.ts";

function openLog() {
  const lines: AuditEntry[] = [];
  const counters = new LimitCounters();
  const clock = { now: 0 };
  const write = (line: AuditEntry) => void lines.push(line);
  const audit = new AuditLog(write, { perSecond: 1, burst: 2 }, counters, () => clock.now);
  const leftOut = () => counters.get("audit.linesPerSecond");
  return { audit, lines, clock, leftOut };
}
const refused = (client: string): AuditEntry => ({ action: "push", outcome: "refused", status: 401, client });
const by = { credential: "east", client: "192.0.2.1" };
const accepted: AuditEntry = { action: "push", outcome: "accepted", status: 200, ...by };

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

  it.each([
    ["PUT", "/api/v1/clusters/west/snapshot", { action: "push", cluster: "west" }],
    ["PATCH", "/api/v1/clusters/west/snapshot", { action: "patch", cluster: "west" }],
    ["DELETE", "/api/v1/clusters/west", { action: "leave", cluster: "west" }],
    ["constructor", "/api/v1/clusters/west", undefined],
    ["GET", "/api/v1/transfer/world", { action: "transfer" }],
    ["POST", "/federations/fed", { action: "register", federation: "fed" }],
    ["GET", "/dns-sets", undefined],
  ])("has %s %s of a client that sends too many requests: %j", async (method, path, expected) => {
    const { audit, lines } = openLog();
    const app = openApp({
      ...apiRoutes({ audit, clientAddress: () => "192.0.2.1" }),
      rate: { take: () => 5 } as unknown as ClientRate,
    });
    const { status } = await app.request(path, { method });
    expect(status).toBe(429);
    expect(lines).toMatchObject(
      expected === undefined
        ? []
        : [{ ...expected, outcome: "refused", status, code: "TOO_MANY_REQUESTS", client: "192.0.2.1" }],
    );
  });

  const LIMITS = { lineLevels: 9, lineValues: 99 } as Parameters<typeof readJsonLine>[2];
  const notJson = () => readJsonLine(Buffer.from('["pods" "secret"]'), 3, LIMITS);
  const refuse = (error: Error) => () => {
    throw error;
  };
  const issues = [{ path: 'exports["shop/secret"]', message: "secret", line: 3 }];
  const mismatch = new ApiError("GENERATION_MISMATCH", "the base is old");
  it.each<[Code, () => unknown, string]>([
    ["INVALID_JSON", notJson, "the body, line 3"],
    ["INVALID_SNAPSHOT", refuse(new SnapshotError(issues)), "the body, line 3"],
    ["INVALID_FEDERATION", refuse(new ApiError("INVALID_FEDERATION", "secret")), "the body"],
    ["GENERATION_MISMATCH", refuse(mismatch), "the base is old"],
  ])("has nothing of a body in the reason of %s", async (code, handle, reason) => {
    const { audit, lines } = openLog();
    const fail = () => handle() as Response;
    const app = new Hono<AppEnvironment>().put("/", apiRoute({}, fail, auditAnswers({ audit }, "push")));
    const response = await app.request("/", { method: "PUT" });
    expect(lines).toMatchObject([{ outcome: "refused", code, reason }]);
    expect(JSON.stringify(lines)).not.toContain("secret");
    expect(await response.json()).toMatchObject({ code });
  });
});
