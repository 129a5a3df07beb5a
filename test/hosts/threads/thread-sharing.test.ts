import { expect, it } from "vitest";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { ThreadSharing } from "../../../src/hosts/node/gateway/threads/thread-sharing.ts";
import { EVERYTHING } from "../../../src/merge/visibility/visibility.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { FakeClock } from "../../gateway/fake-clock.ts";
import { putSnapshot } from "../../gateway/pushes.ts";
import { realCompiler, realStages } from "../../gateway/real-stages.ts";
import { emptySnapshot, headlessExport, shopSnapshot } from "../../snapshot/worlds.ts";

/** A gateway whose state is published, and what was posted. */
async function openPublished() {
  const clock = new FakeClock();
  const sharing = new ThreadSharing(clock, [EVERYTHING]);
  const { hold, onLoaded, watchLeases, share } = sharing.parts;
  const gateway = await Gateway.open({
    ...{ store: createMemoryStore(), clock, watchLeases, share, onEvent: () => {} },
    stages: { ...realStages(), createCompiler: () => realCompiler({ ttl: 30 }, hold) },
  });
  onLoaded(gateway);
  const posted: { hasParts: boolean; clusters?: string[] }[] = [];
  sharing.post = ({ update }) => {
    const scope = update!.scopes.get("");
    posted.push({
      hasParts: update!.added.length > 0,
      ...(scope && { clusters: [...scope.clusters.keys()] }),
    });
  };
  /** What was posted until something was acknowledged. */
  const postedBy = async (acknowledged: Promise<unknown>) => {
    let posts: typeof posted | undefined;
    void acknowledged.then(() => {
      posts = posted.splice(0);
    });
    while (posts === undefined) await clock.advance(1);
    return posts;
  };
  return { gateway, postedBy };
}

it("threads get a push once, leases and segments together, before it is acknowledged; and a renewal without segments", async () => {
  const { gateway, postedBy } = await openPublished();
  for (const clusterId of ["west", "east"])
    expect(await postedBy(putSnapshot(gateway, shopSnapshot(clusterId)))).toEqual([
      { hasParts: true, clusters: [clusterId] },
    ]);
  const { generation } = gateway.status().clusters.find(({ clusterId }) => clusterId === "east")!;
  expect(await postedBy(gateway.renew("east", generation, { leaseSeconds: 60 }))).toEqual([
    { hasParts: false, clusters: ["east"] },
  ]);
  expect(await postedBy(gateway.leave("west"))).toMatchObject([{ hasParts: true }]);
});

it("threads get the parts of a large push some at a time, before the state that has them", async () => {
  const { gateway, postedBy } = await openPublished();
  const exports = Object.fromEntries(
    Array.from({ length: 2000 }, (_, index) => [`shop/web-${index}`, headlessExport(8)]),
  );
  const large = { ...emptySnapshot("west"), namespaces: { shop: {} }, exports };
  const posts = await postedBy(putSnapshot(gateway, large));
  expect(posts.length).toBeGreaterThan(2);
  const last = posts.pop();
  expect(last?.clusters).toEqual(["west"]);
  expect(posts.every(({ hasParts, clusters }) => hasParts && clusters === undefined)).toBe(true);
});
