import { decode } from "dns-packet";
import { beforeEach, describe, expect, it } from "vitest";
import { createApp } from "../../src/http/app.ts";
import { cluster, FakeGateway, NOW } from "./fake-gateway.ts";

const NAME = "web.shop.svc.clusterset.test";

let gateway: FakeGateway;
let app: ReturnType<typeof createApp>;

beforeEach(() => {
  gateway = new FakeGateway();
  app = createApp({ gateway, clock: () => NOW, zones: ["clusterset.local"], version: "0.0.0" });
});

const get = (path: string, accept?: string) =>
  app.request(path, accept === undefined ? {} : { headers: { accept } });
const asked = () => decode(Buffer.from(gateway.asked.at(-1)!.query));

describe("the JSON form", () => {
  it("has the fields of Google's and Cloudflare's", async () => {
    const response = await get(`/resolve?name=${NAME}&type=A`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("max-age=5");
    expect(response.headers.get("vary")).toBe("accept");
    expect(await response.json()).toEqual({
      Status: 0,
      TC: false,
      RD: true,
      RA: false,
      AD: false,
      CD: false,
      Question: [{ name: `${NAME}.`, type: 1 }],
      Answer: [{ name: `${NAME}.`, type: 1, TTL: 5, data: "10.1.0.1" }],
      Comment: "seen from outside; 2 of 2 clusters live; cluster-b heard 5 s ago; cluster-a heard 3 s ago",
    });
  });

  it.each([
    ["/resolve", undefined, "application/json; charset=utf-8"],
    ["/resolve", "application/dns-json", "application/dns-json"],
    ["/dns-query", "application/dns-json", "application/dns-json"],
    ["/dns-query", "text/html,application/xhtml+xml,*/*;q=0.8", "application/json; charset=utf-8"],
    ["/dns-query", undefined, "application/json; charset=utf-8"],
    ["/dns-query", "application/dns-message", "application/dns-message"],
    ["/clusters/cluster-a/dns-query", "application/dns-json", "application/dns-json"],
    ["/clusters/cluster-a/resolve", undefined, "application/json; charset=utf-8"],
  ])("%s?name= with Accept %s is %s", async (path, accept, contentType) => {
    const response = await get(`${path}?name=${NAME}`, accept);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(contentType);
    expect(gateway.asked[0]?.view).toBe(path.startsWith("/clusters/") ? "cluster-a" : undefined);
  });

  it("refuses an Accept that excludes every form with 406", async () => {
    expect((await get(`/resolve?name=${NAME}`, "text/html")).status).toBe(406);
  });

  it("gives wire format for ct=application/dns-message", async () => {
    const response = await get(`/resolve?name=${NAME}&ct=application/dns-message`);
    expect(response.headers.get("content-type")).toBe("application/dns-message");
    expect(decode(Buffer.from(await response.arrayBuffer())).answers).toHaveLength(1);
  });

  it("renders each type in the form of zone files", async () => {
    const name = NAME;
    gateway.reply = {
      answers: [
        { type: "AAAA", name, ttl: 5, data: "fd00::1" },
        { type: "PTR", name, ttl: 5, data: "a.example" },
        { type: "SRV", name, ttl: 5, data: { priority: 0, weight: 50, port: 443, target: "web.example" } },
        { type: "TXT", name, ttl: 5, data: ["1.0.0", 'say "hi" \\ ', Buffer.from([0x00, 0xe9])] },
        { type: "HINFO", name, ttl: 5, data: { cpu: "RFC8482", os: "" } },
        { type: "NULL", name, ttl: 5, data: Buffer.from("0a0b", "hex") },
      ],
      authorities: [
        {
          type: "SOA",
          name: "clusterset.test",
          ttl: 5,
          data: { mname: "ns.x", rname: "host.x", serial: 1, refresh: 2, retry: 3, expire: 4, minimum: 5 },
        },
      ],
      additionals: [{ type: "A", name: "web.example", ttl: 5, data: "10.1.0.2" }],
    };
    const answer = (await (await get(`/resolve?name=${NAME}&type=ANY`)).json()) as Record<
      string,
      { data: string }[]
    >;
    expect(answer.Answer?.map((record) => record.data)).toEqual([
      "fd00::1",
      "a.example.",
      "0 50 443 web.example.",
      String.raw`"1.0.0" "say \"hi\" \\ " "\000\233"`,
      '"RFC8482" ""',
      "\\# 2 0a0b",
    ]);
    expect(answer.Authority?.map((record) => record.data)).toEqual(["ns.x. host.x. 1 2 3 4 5"]);
    expect(answer.Additional?.map((record) => record.data)).toEqual(["10.1.0.2"]);
  });

  it("tells the response code and the Extended DNS Error (RFC 8914)", async () => {
    gateway.reply = {
      rcode: 2,
      freshness: 0,
      outcome: "servfail",
      additionals: [
        {
          type: "OPT",
          name: ".",
          udpPayloadSize: 1232,
          extendedRcode: 0,
          ednsVersion: 0,
          flags: 0,
          flag_do: false,
          options: [{ code: 15, data: Buffer.from("\x00\x0enot synced") } as never],
        },
      ],
    };
    const response = await get(`/resolve?name=${NAME}`);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toMatchObject({
      Status: 2,
      Comment: expect.stringMatching(/^Extended DNS Error 14: not synced; seen from outside/),
    });
  });

  it("says which clusters are silent, oldest first, and sums up many", async () => {
    gateway.state = {
      ...gateway.state,
      clusters: [
        cluster("cluster-a"),
        cluster("cluster-b", { live: false, renewedAt: NOW - 95_000 }),
        ...["c", "d", "e", "f"].map((id) => cluster(id, { renewedAt: NOW })),
      ],
    };
    const answer = (await (await get(`/clusters/cluster-a/resolve?name=${NAME}`)).json()) as {
      Comment: string;
    };
    expect(answer.Comment).toBe(
      "seen from cluster-a; 5 of 6 clusters live; cluster-b silent for 95 s, withdrawn; cluster-a heard 3 s ago; " +
        "c heard 0 s ago; d heard 0 s ago; e heard 0 s ago; the others more recently",
    );
  });
});

describe("parameters", () => {
  it.each([
    ["", "A"],
    ["&type=", "A"],
    ["&type=aaaa", "AAAA"],
    ["&type=33", "SRV"],
    ["&type=TYPE12", "PTR"],
    ["&type=HTTPS", "UNKNOWN_65"],
    ["&type=65", "UNKNOWN_65"],
    ["&type=ANY", "ANY"],
    ["&type=*", "ANY"],
    ["&type=65535", "UNKNOWN_65535"],
    ["&type=SRV&type=A", "SRV"],
  ])("type %j asks for %s", async (search, type) => {
    expect((await get(`/resolve?name=${NAME}${search}`)).status).toBe(200);
    expect(asked().questions).toEqual([{ name: NAME, type, class: "IN" }]);
  });

  it.each([
    ["with the trailing dot", `${NAME}.`, `${NAME}.`],
    ["keeping its case (RFC 4343)", "WeB.Shop.svc.clusterset.test", "WeB.Shop.svc.clusterset.test."],
    ["an underscore", "_http._tcp.web.shop.svc.clusterset.test", "_http._tcp.web.shop.svc.clusterset.test."],
    ["with an escaped dot", "a%5C.b.example", "a\\.b.example."],
    ["with an escaped octet", "a%5C000b.example", "a\\000b.example."],
    ["the root", ".", "."],
  ])("takes a name %s", async (_, name, echoed) => {
    const response = await get(`/resolve?name=${name}`);
    expect(response.status).toBe(200);
    expect(((await response.json()) as { Question: { name: string }[] }).Question[0]?.name).toBe(echoed);
  });

  it("sets CD and DO, RD and ID 0, and a payload size that JSON can hold", async () => {
    await get(`/resolve?name=${NAME}&cd=1&do=true`);
    expect(asked()).toMatchObject({ id: 0, flag_cd: true, flag_rd: true });
    expect(asked().additionals).toMatchObject([
      { type: "OPT", udpPayloadSize: 65535, flag_do: true, ednsVersion: 0 },
    ]);
    await get(`/resolve?name=${NAME}&cd=false&do=`);
    expect(asked()).toMatchObject({ flag_cd: false });
    expect(asked().additionals).toMatchObject([{ type: "OPT", flag_do: false }]);
  });

  it.each([
    ["no name", "", "name is missing"],
    ["an empty name", "?name=", "name is missing"],
    ["an empty label", "?name=a..example", "empty label"],
    ["a leading dot", "?name=.example.com", "empty label"],
    ["a label of 64 octets", `?name=${"a".repeat(64)}.example`, "63"],
    ["a name over 255 octets", `?name=${"abcdefg.".repeat(40)}example`, "255"],
    ["a Unicode name", "?name=%CE%B5%CE%BB", "A-label"],
    ["a space", "?name=a+b.example", "cannot hold"],
    ["a broken escape", "?name=%zz", "percent-encoding"],
    ["an unknown type", "?name=a.example&type=BOGUS", "type"],
    ["dns-packet's own names of types", "?name=a.example&type=UNKNOWN_x", "type"],
    ["type 0", "?name=a.example&type=0", "type"],
    ["type 65536", "?name=a.example&type=65536", "type"],
    ["a negative type", "?name=a.example&type=-1", "type"],
    ["a flag that is none", "?name=a.example&cd=maybe", "cd"],
  ])("explains %s with 400", async (_, search, explanation) => {
    const response = await get(`/resolve${search}`);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(explanation);
    expect(gateway.asked).toEqual([]);
  });
});

describe("methods of /resolve, as Google's has them", () => {
  it.each([
    ["HEAD", 400],
    ["POST", 501],
    ["PUT", 501],
    ["OPTIONS", 204],
  ])("%s is answered with %i", async (method, status) => {
    expect((await app.request(`/resolve?name=${NAME}`, { method })).status).toBe(status);
  });
});
