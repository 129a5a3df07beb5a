import fc from "fast-check";
import { expect, it } from "vitest";
import type { DesiredLine } from "../../../../src/snapshot/desired-line.ts";
import { exported, exporting, snapshot } from "../../../merge/fixtures.ts";
import { expectMet } from "../../../property-share.ts";
import { arbitrarySnapshot } from "../../../worlds/arbitrary.ts";
import { openDesiredApi } from "./desired-api.ts";

/** What a worker holds of its desired state: each line by what it is about. */
class Followed {
  readonly #lines = new Map<string, string>();

  take(lines: readonly DesiredLine[]): void {
    for (const line of lines) {
      if ("start" in line) {
        if (line.start === "snapshot") this.#lines.clear();
        continue;
      }
      if ("leases" in line || "position" in line) continue;
      const { desired, conditions, ...about } = { desired: null, conditions: null, ...line };
      const key = JSON.stringify(about);
      if ((desired ?? conditions) === null) this.#lines.delete(key);
      else this.#lines.set(key, JSON.stringify(line));
    }
  }

  get lines(): string[] {
    return [...this.#lines.values()].sort();
  }
}

it("a stream that goes on from any position, and one that never breaks off, have what a new stream has", async () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: arbitrarySnapshot(fc.constantFrom("a", "b", "c")) },
    { weight: 1, arbitrary: fc.constantFrom("b", "c") },
  );
  let changed = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, fc.boolean()), { minLength: 2, maxLength: 8 }),
      async (steps) => {
        const { gateway, push, open } = await openDesiredApi();
        await push(exporting("a"));
        const [resuming, unbroken, anew] = [new Followed(), new Followed(), new Followed()];
        const reader = await open("a");
        let position: string | undefined;
        const resume = async (followed: Followed, after?: string) => {
          const stream = await open("a", after);
          const { lines, position: end } = await stream.batch();
          await stream.cancel();
          followed.take(lines);
          if (after !== undefined && lines.length > 1) changed++;
          return end;
        };
        for (const [one, isRead] of steps) {
          if (typeof one === "string") await gateway.leave(one);
          else await push(one);
          if (isRead) position = await resume(resuming, position);
        }
        // A change of the cluster's own export, which the unbroken stream has last.
        await push(snapshot("a", { exports: { "shop/last": exported() } }));
        await resume(resuming, position);
        await resume(anew);
        const isLast = (line: DesiredLine) => "export" in line && line.export === "shop/last";
        for (let isOver = false; !isOver; ) {
          const { lines } = await reader.batch();
          unbroken.take(lines);
          isOver = lines.some(isLast);
        }
        await reader.cancel();
        expect(resuming.lines).toEqual(anew.lines);
        expect(unbroken.lines).toEqual(anew.lines);
      },
    ),
    { numRuns: 60 },
  );
  expectMet(changed, 20);
});
