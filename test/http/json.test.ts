import { decode } from "dns-packet";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { JsonExplanation } from "../../src/http/explain.ts";
import { NAME } from "../conformance/cases/doh.ts";
import { twoClusters } from "../resolve/world.ts";
import { cluster, FakeGateway, NOW } from "./fake-gateway.ts";
import { openApp } from "./open-app.ts";
import { type PagesWorld, pagesWorld } from "./pages/pages-world.ts";

let gateway: FakeGateway;
let app: ReturnType<typeof openApp>;

beforeEach(() => {
  gateway = new FakeGateway();
  app = openApp({ gateway });
});

const get = (path: string) => app.request(path);
const asked = () => decode(Buffer.from(gateway.asked.at(-1)!.query));

it.each([
  [
    "names silent clusters, oldest first, and summarizes many",
    [
      cluster("cluster-a"),
      cluster("cluster-b", { live: false, renewedAt: NOW - 95_000, expiresAt: NOW - 35_000 }),
      ...["c", "d", "e", "f"].map((id) => cluster(id, { renewedAt: NOW })),
    ],
    "5 of 6 clusters live; cluster-b silent for 95 s, withdrawn; cluster-a last seen 3 s ago; c last seen 0 s ago; d last seen 0 s ago; e last seen 0 s ago; the others more recently",
  ],
  [
    "says of a cluster that has pushed, and is not in the answers yet, that it has pushed",
    [cluster("cluster-b", { live: false, renewedAt: NOW - 2_000 })],
    "0 of 1 cluster live; cluster-b pushed 2 s ago, not in the answers yet",
  ],
])("the JSON form %s", async (_, clusters, said) => {
  gateway.state = { ...gateway.state, clusters };
  const Comment = `seen from outside; ${said}`;
  expect(await (await get(`/resolve?name=${NAME}`)).json()).toMatchObject({ Comment });
});

it("the query of JSON has CD, DO, RD, ID 0 and the largest payload size", async () => {
  await get(`/resolve?name=${NAME}&cd=1&do=true`);
  expect(asked()).toMatchObject({ id: 0, flag_cd: true, flag_rd: true });
  expect(asked().additionals).toMatchObject([
    { type: "OPT", udpPayloadSize: 65535, flag_do: true, ednsVersion: 0 },
  ]);
  await get(`/resolve?name=${NAME}&cd=false&do=`);
  expect(asked()).toMatchObject({ flag_cd: false, additionals: [{ type: "OPT", flag_do: false }] });
});

describe("/explain", () => {
  let world: PagesWorld;
  beforeAll(async () => {
    world = await pagesWorld(twoClusters());
  });
  const explain = async (search: string, path = "/explain") => {
    const response = await world.fetch(`${path}?${search}`);
    return { response, body: (await response.json()) as JsonExplanation };
  };

  it("returns the records with their clusters and leases, the service, the view and the age of the answer", async () => {
    const { response, body } = await explain(`name=${NAME}&type=AAAA`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(body).toMatchObject({
      question: { name: `${NAME}.`, type: "AAAA" },
      view: {},
      status: "NOERROR",
      code: "ANSWERED",
      recordCount: 1,
      omitted: [],
      records: [{ name: `${NAME}.`, type: "AAAA", ttl: 5, data: "fd00::c8:1", from: ["east"] }],
      leases: ["east", "west"].map((clusterId) => ({ clusterId, expiresInSeconds: 60 })),
      service: { namespace: "shop", name: "web", type: "ClusterSetIP", importers: ["east", "west"] },
      comment: expect.stringContaining("2 of 2 clusters live"),
    });
  });

  it("explains the answer in the view of the cluster in the path", async () => {
    const { body } = await explain(`name=${NAME}`, "/clusters/west/explain");
    const records = [{ data: "10.201.0.1", from: ["west"] }];
    expect(body).toMatchObject({ view: { cluster: "west" }, records });
    expect((await world.fetch(`/clusters/none/explain?name=${NAME}`)).status).toBe(404);
  });
});
