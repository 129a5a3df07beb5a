import { beforeAll, describe, expect, it } from "vitest";
import type { JsonExplanation } from "../../src/http/explain.ts";
import { twoClusters } from "../resolve/world.ts";
import { type PagesWorld, pagesWorld } from "./pages/pages-world.ts";

const WEB = "web.shop.svc.clusterset.test";

let world: PagesWorld;
beforeAll(async () => {
  world = await pagesWorld(twoClusters());
});

const explain = async (search: string, path = "/explain") => {
  const response = await world.fetch(`${path}?${search}`);
  return { response, body: (await response.json()) as JsonExplanation };
};

describe("/explain", () => {
  it("returns the records with their clusters and leases, the service, the view and the age of the answer", async () => {
    const { response, body } = await explain(`name=${WEB}&type=AAAA`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(body).toMatchObject({
      question: { name: `${WEB}.`, type: "AAAA" },
      view: {},
      status: "NOERROR",
      code: "ANSWERED",
      recordCount: 1,
      omitted: [],
      records: [{ name: `${WEB}.`, type: "AAAA", ttl: 5, data: "fd00::c8:1", from: ["east"] }],
      leases: [
        { clusterId: "east", expiresInSeconds: 60 },
        { clusterId: "west", expiresInSeconds: 60 },
      ],
      service: { namespace: "shop", name: "web", type: "ClusterSetIP", importers: ["east", "west"] },
      comment: expect.stringContaining("2 of 2 clusters live"),
    });
  });

  it("explains the answer in the view of the cluster in the path", async () => {
    const { body } = await explain(`name=${WEB}`, "/clusters/west/explain");
    expect(body).toMatchObject({
      view: { cluster: "west" },
      records: [{ data: "10.201.0.1", from: ["west"] }],
    });
    const response = await world.fetch(`/clusters/none/explain?name=${WEB}`);
    expect(response.status).toBe(404);
  });

  it("says what is wrong with a question", async () => {
    const { response, body } = await explain(`name=${WEB}&type=NOTHING`);
    expect(response.status).toBe(400);
    expect(body).toEqual({ code: "INVALID_QUESTION", message: expect.stringContaining("NOTHING") });
  });
});
