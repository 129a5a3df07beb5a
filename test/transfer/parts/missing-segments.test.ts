import { describe, expect, it } from "vitest";
import type { Answer, Missing } from "../../../src/resolve/answer.ts";
import type { GenerationKeeper } from "../../../src/transfer/generation-keeper.ts";
import type { AnySegment } from "../../../src/transfer/parts/any-segment.ts";
import { MissingSegments } from "../../../src/transfer/parts/missing-segments.ts";
import type { TransferEvent } from "../../../src/transfer/transfer-events.ts";
import { type Branch, HeldBranch } from "../../../src/zone/generation/directory.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import { FakeClock } from "../../gateway/fake-clock.ts";

type AnyBranch = Branch<AnySegment>;
const ANSWER = { outcome: "answer" } as Answer;
const branchOf = (hash: string, kind: "segment" | "page" = "segment"): AnyBranch =>
  new HeldBranch(kind, hash);
const missing = (hash: string) => ({ missing: branchOf(hash) }) as Missing;

/** Segments that a keeper brings as the test says; at once unless it says otherwise. */
function open(bring: (hash: string) => Promise<boolean> | boolean = () => true) {
  const clock = new FakeClock();
  const events: TransferEvent[] = [];
  const brought: string[] = [];
  const here = new Set<string>();
  const keeper = {
    has: ({ hash }: AnyBranch) => here.has(hash),
    bring: async (
      { hash }: AnyBranch,
      request: (late: string, run: () => Promise<boolean>) => Promise<boolean>,
    ) => {
      brought.push(hash);
      const isThere = await request("the segment was not transferred", async () => bring(hash));
      if (isThere) here.add(hash);
      return isThere;
    },
  } as unknown as GenerationKeeper;
  const segments = new MissingSegments(keeper, clock, 1000, (event) => void events.push(event));
  const answer = (hash: string, resolve: () => Answer | Missing | undefined, replaced = async () => {}) =>
    segments.answer(missing(hash), resolve, replaced);
  const generationOf = (branches: readonly AnyBranch[]) =>
    ({ names: { hash: "names", entries: branches.map((branch) => ({ branch })) } }) as unknown as Generation;
  return { clock, events, brought, here, segments, answer, generationOf };
}
const never = () => new Promise<boolean>(() => {});

describe("a query that needs segments", () => {
  it("is answered once all of them are there, one after the other", async () => {
    const { brought, events, answer } = open();
    const next: (Answer | Missing)[] = [missing("b"), missing("c"), ANSWER];
    expect(await answer("a", () => next.shift())).toBe(ANSWER);
    expect(brought).toEqual(["a", "b", "c"]);
    expect(events).toEqual([]);
  });

  it("may need no answer in the end", async () => {
    const { events, answer } = open();
    expect(await answer("a", () => undefined)).toBeUndefined();
    expect(events).toEqual([]);
  });

  it("gets 20 of them, and no more", async () => {
    const { brought, events, answer } = open();
    let count = 0;
    expect(await answer("0", () => missing(`${++count}`))).toBeUndefined();
    expect(brought).toEqual(Array.from({ length: 20 }, (_, index) => `${index}`));
    expect(events).toEqual([
      { event: "segment-unavailable", hash: "20", error: new Error("a query needs more than 20 segments") },
    ]);
  });

  it("waits for the next generation where one was replaced, twice", async () => {
    let gone = 2;
    const { brought, answer } = open(() => gone-- <= 0);
    let replaced = 0;
    const resolve = () => (gone < 0 ? ANSWER : missing(`after ${replaced}`));
    const wait = async () => void replaced++;
    expect(await answer("a", resolve, wait)).toBe(ANSWER);
    expect([brought, replaced]).toEqual([["a", "after 1", "after 2"], 2]);
  });

  it("gets SERVFAIL where the third one is replaced as well", async () => {
    const { events, answer } = open(() => false);
    let replaced = 0;
    const wait = async () => void replaced++;
    expect(await answer("a", () => missing("b"), wait)).toBeUndefined();
    expect(replaced).toBe(2);
    expect(events).toEqual([
      {
        ...{ event: "segment-unavailable", hash: "b" },
        error: new Error("the primary does not serve the segment any more"),
      },
    ]);
  });

  it("waits for as long as a transfer may take", async () => {
    const { clock, events, answer } = open(never);
    const answered = answer("a", () => ANSWER);
    await clock.advance(1000);
    expect(await answered).toBeUndefined();
    expect(events).toMatchObject([{ error: { message: "the segment was not transferred within 1000 ms" } }]);
  });
});

describe("queries that need the same segment", () => {
  /** A segment that comes when the test says so. */
  function openSlow() {
    const comes: ((isThere: boolean) => void)[] = [];
    const opened = open(() => new Promise<boolean>((resolve) => void comes.push(resolve)));
    return { ...opened, comes };
  }

  it("wait for the one that fetches it", async () => {
    const { clock, brought, comes, answer } = openSlow();
    const answers = [answer("a", () => ANSWER), answer("a", () => ANSWER), answer("b", () => ANSWER)];
    await clock.advance(200);
    expect(brought).toEqual(["a", "b"]);
    for (const come of comes) come(true);
    await clock.advance(50);
    expect(await Promise.all(answers)).toEqual([ANSWER, ANSWER, ANSWER]);
    expect(brought).toEqual(["a", "b"]);
    expect(clock.timers).toBe(0);
  });

  it("fetch it themselves where that one has failed", async () => {
    const { clock, brought, comes, answer } = openSlow();
    const answers = [
      answer("a", () => ANSWER),
      answer(
        "a",
        () => ANSWER,
        async () => {},
      ),
    ];
    await clock.advance(10);
    comes[0]!(false);
    await clock.advance(50);
    expect(brought).toEqual(["a", "a"]);
    comes[1]!(true);
    expect(await Promise.all(answers)).toEqual([ANSWER, ANSWER]);
  });

  it("fetch it themselves after 400 ms, and not before", async () => {
    const { clock, brought, answer } = open(never);
    void answer("a", () => ANSWER);
    void answer("a", () => ANSWER);
    await clock.advance(399);
    expect(brought).toEqual(["a"]);
    await clock.advance(51);
    expect(brought).toEqual(["a", "a"]);
  });

  it("fetch it at once where the clock was set back by more than that", async () => {
    const { clock, brought, answer } = open(never);
    void answer("a", () => ANSWER);
    await clock.advance(0);
    clock.stall(-3_600_000);
    void answer("a", () => ANSWER);
    await clock.advance(0);
    expect(brought).toEqual(["a", "a"]);
  });

  it("do not count on requests of which there are 1,000 that never ended", async () => {
    const { clock, brought, answer } = open(never);
    for (let count = 0; count < 1000; count++) void answer(`hung ${count}`, () => ANSWER);
    await clock.advance(0);
    void answer("hung 7", () => ANSWER);
    await clock.advance(0);
    expect(brought).toHaveLength(1000);
    void answer("another", () => ANSWER);
    void answer("hung 8", () => ANSWER);
    await clock.advance(0);
    expect(brought.slice(1000)).toEqual(["another", "hung 8"]);
  });
});

describe("the segments of all names", () => {
  it("are brought, but for those that are there", async () => {
    const { brought, here, segments, generationOf } = open();
    here.add("b");
    const generation = generationOf(["a", "b", "c"].map((hash) => branchOf(hash)));
    expect(await segments.bringNames(generation)).toBe(true);
    expect(brought).toEqual(["a", "c"]);
  });

  it("are 128 at most, and none of a page", async () => {
    const { brought, segments, generationOf } = open();
    const many = Array.from({ length: 129 }, (_, index) => branchOf(`${index}`));
    expect(await segments.bringNames(generationOf(many))).toBe(false);
    expect(await segments.bringNames(generationOf([branchOf("a"), branchOf("b", "page")]))).toBe(false);
    expect(brought).toEqual([]);
    expect(await segments.bringNames(generationOf(many.slice(1)))).toBe(true);
    expect(brought).toHaveLength(128);
  });

  it("are not all there where one cannot be had", async () => {
    const { events, segments, generationOf } = open((hash) => {
      if (hash === "b") throw new Error("connection refused");
      return true;
    });
    expect(await segments.bringNames(generationOf(["a", "b"].map((hash) => branchOf(hash))))).toBe(false);
    expect(events).toEqual([
      { event: "segment-unavailable", hash: "names", error: new Error("connection refused") },
    ]);
    const gone = open(() => false);
    expect(await gone.segments.bringNames(gone.generationOf([branchOf("a")]))).toBe(false);
  });
});
