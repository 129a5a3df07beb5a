import { expect, it, vi } from "vitest";
import { Reader } from "../../../src/database/reader.ts";
import { DatabaseEntries } from "../../../src/names/database-entries.ts";
import { decode, encodeQuery } from "../../resolve/ask.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { FakeClock } from "../fake-clock.ts";
import { putSnapshot } from "../open-gateway.ts";
import { answerNow, openKeyed } from "../open-keyed.ts";

/** What a scope with a hidden namespace reads. */
async function openScoped() {
  const clock = new FakeClock();
  const visibility = { namespaces: ["shop"] };
  const gateway = openKeyed({ clock, scopes: [visibility] });
  const push = async (clusterId: string, endpoints: number) => {
    const pushed = putSnapshot(gateway, shopSnapshot(clusterId, endpoints), { leaseSeconds: 60 });
    await clock.advance(0);
    await pushed;
  };
  await push("west", 1);
  await push("east", 1);
  return { clock, push, scoped: gateway.within(visibility) };
}

it("exports and imports are counted for surveys, in turns, and after a change of one cluster only its own", async () => {
  const { push, scoped } = await openScoped();
  const reads = vi.spyOn(Reader.prototype, "all");
  const counted = () => scoped.status().clusters.map(({ exports }) => exports);
  expect(counted()).toEqual([undefined, undefined]);
  expect(reads).not.toHaveBeenCalled();
  await scoped.survey();
  expect(counted()).toEqual([1, 1]);
  await push("east", 2);
  reads.mockClear();
  expect(counted()).toEqual([undefined, 1]);
  await scoped.survey();
  expect(counted()).toEqual([1, 1]);
  expect(new Set(reads.mock.calls.map(([cluster]) => cluster))).toEqual(new Set(["east"]));
});

it("a query for a namespace reads no entry to learn whether it exists", async () => {
  const { clock, scoped } = await openScoped();
  const reads = vi.spyOn(DatabaseEntries.prototype, "service");
  const query = encodeQuery("shop.svc.clusterset.local", "A");
  expect(decode(answerNow(scoped, query, undefined, clock.now()).bytes)).toMatchObject({ rcode: "NOERROR" });
  expect(reads).not.toHaveBeenCalled();
});
