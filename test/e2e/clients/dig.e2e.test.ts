import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { run } from "../servers/run.ts";
import { ensureTools } from "../servers/tools/tools.ts";
import {
  BIG,
  BIG_SIZE,
  DB,
  type ListeningGateway,
  startListeningGateway,
  WEB,
  ZONE,
} from "./listening-gateway.ts";

let listening: ListeningGateway;
beforeAll(async () => {
  await ensureTools(["dig", "kdig"], console.error);
  listening = await startListeningGateway();
});
afterAll(() => listening?.gateway.stop());

const dig = (...args: string[]) =>
  run("dig", ["+tries=1", "+time=120", "@127.0.0.1", "-p", String(listening.dnsPort), ...args]);
const kdig = (...args: string[]) => run("kdig", ["+retry=0", "+timeout=120", "@127.0.0.1", ...args]);
const overTls = (...args: string[]) =>
  kdig("-p", String(listening.dotPort), `+tls-ca=${listening.gateway.caFile}`, ...args);

const lines = (text: string) => text.trim().split("\n").sort();
/** What a program prints for records, with the white space between the fields made one space each. */
const records = (text: string) =>
  text
    .split("\n")
    .filter((line) => /^[^;\s].*\sIN\s/.test(line))
    .map((line) => line.replace(/\s+/g, " "));

describe("dig", () => {
  test.each([
    ["over UDP", []],
    ["over UDP without EDNS", ["+noedns"]],
    ["over UDP without a cookie", ["+nocookie"]],
    ["over UDP with an unknown option", ["+ednsopt=65000:00ff"]],
    ["over UDP with a client subnet", ["+subnet=192.0.2.0/24"]],
    ["over TCP", ["+tcp"]],
  ])("%s", async (_, flags) => {
    expect(lines(await dig(...flags, "+short", WEB, "A"))).toEqual(["10.96.1.10", "10.96.2.10"]);
    expect(lines(await dig(...flags, "+short", DB, "A"))).toHaveLength(4);
    expect(lines(await dig(...flags, "+short", `_https._tcp.${WEB}`, "SRV"))).toEqual([`0 100 443 ${WEB}.`]);
  });

  test("gets NXDOMAIN with the SOA record, and no RA", async () => {
    const text = await dig(`nothing.${ZONE}`, "A");
    expect(text).toMatch(/status: NXDOMAIN/);
    expect(text).toMatch(/flags: qr aa rd;/);
    expect(records(text)).toEqual([
      expect.stringMatching(/^clusterset\.example\.org\. 5 IN SOA ns\.dns\.clusterset\.example\.org\. /),
    ]);
  });

  test("gets TC, and repeats the query over TCP (RFC 7766 section 5)", async () => {
    for (const flags of [[], ["+noedns"], ["+bufsize=4096"]]) {
      const text = await dig(...flags, BIG, "A");
      expect(text).toMatch(/^;; Truncated, retrying in TCP mode\./m);
      expect(text).toMatch(/ANSWER: 300,/);
      expect(records(text)).toHaveLength(BIG_SIZE);
    }
    const truncated = await dig("+ignore", BIG, "A");
    expect(truncated).toMatch(/flags: qr aa tc rd;.* ANSWER: 0,/);
  });

  test("keeps a TCP connection for several queries, and gets its idle timeout (RFC 7828)", async () => {
    const kept = ["+tcp", "+keepopen"];
    const text = await dig(...kept, "+keepalive", WEB, "A", DB, "A", ...kept, BIG, "A");
    expect(records(text)).toHaveLength(2 + 4 + BIG_SIZE);
    expect(text).toMatch(/TCP KEEPALIVE: 30\.0 secs/);
    expect([...text.matchAll(/SERVER: .*\(TCP\)/g)]).toHaveLength(3);
  });

  test("resolves over TLS", async () => {
    const { dotPort, gateway } = listening;
    const tls = ["+tls", `+tls-ca=${gateway.caFile}`, "+tls-hostname=localhost", "-p", String(dotPort)];
    expect(lines(await dig(...tls, "+short", WEB, "A"))).toEqual(["10.96.1.10", "10.96.2.10"]);
  });
});

describe("kdig", () => {
  test("resolves over TLS in strict mode: only with the trusted certificate (RFC 8310)", async () => {
    const text = await overTls("+tls-hostname=localhost", WEB, "A");
    expect(text).toMatch(/TLS session \(TLS1\.3\)/);
    expect(records(text).sort()).toEqual([`${WEB}. 5 IN A 10.96.1.10`, `${WEB}. 5 IN A 10.96.2.10`]);
    expect(text).toMatch(/PADDING: \d+ B/);
    await expect(overTls("+tls-hostname=other.example", WEB, "A")).rejects.toThrow(/certificate|TLS/i);
  });

  test("keeps TCP and TLS connections for many queries", async () => {
    const questions = Array.from({ length: 20 }, () => [WEB, "A", DB, "A"]).flat();
    const overTcp = await kdig("-p", String(listening.dnsPort), "+tcp", "+keepopen", ...questions);
    const secure = await overTls("+tls-hostname=localhost", "+keepopen", ...questions);
    for (const text of [overTcp, secure]) expect(records(text)).toHaveLength(20 * 6);
    expect([...secure.matchAll(/TLS session/g)]).toHaveLength(40);
  });
});
