import { describe, expect, it } from "vitest";
import { PartChangeError } from "../../../src/transfer/parts/part-change.ts";
import { PartFetcher, type RequestStep } from "../../../src/transfer/parts/part-fetcher.ts";
import { SignatureError } from "../../../src/transfer/signature.ts";
import type { TransferEvent } from "../../../src/transfer/transfer-events.ts";
import type { NamedBytes } from "../../../src/transfer/transfer-state.ts";

const since: NamedBytes = { hash: "before", bytes: new Uint8Array(1) };

function open() {
  const dropped: string[] = [];
  const events: TransferEvent[] = [];
  const fetcher = new PartFetcher(
    { drop: (kind, hash) => void dropped.push(`${kind} ${hash}`) },
    (event) => void events.push(event),
  );
  const bases: (string | undefined)[] = [];
  const late: string[] = [];
  const request: RequestStep = (text, run) => {
    late.push(text);
    return run(new AbortController().signal);
  };
  /** Fetches a part of that text. @param load what checks it */
  const fetch = (given: () => string | undefined, load = (text: string) => text.length) =>
    fetcher.fetch<string, number>(
      {
        ...{ kind: "segment", hash: "part", since, load },
        fetch: async (base) => {
          bases.push(base?.hash);
          return given();
        },
      },
      request,
    );
  return { fetcher, dropped, events, bases, late, fetch };
}

describe("a part that is fetched", () => {
  it("is what is made of what the source gives, with the part before it as a base", async () => {
    const { bases, late, events, fetch } = open();
    expect(await fetch(() => "text")).toBe(4);
    expect(await fetch(() => undefined)).toBeUndefined();
    expect([bases, late, events]).toEqual([
      ["before", "before"],
      ["the segment was not transferred", "the segment was not transferred"],
      [],
    ]);
  });

  it.each<[string, Error, boolean]>([
    ["the change of another part", new PartChangeError("of another"), true],
    ["a wrong signature", new SignatureError("is wrong"), true],
    ["no connection", new TypeError("fetch failed"), false],
  ])("from a source that fails is none: %s", async (_, error, isBad) => {
    const { dropped, events, fetch } = open();
    const failing = () => {
      throw error;
    };
    await expect(fetch(failing)).rejects.toBe(error);
    expect(dropped).toEqual(isBad ? ["segment part"] : []);
    expect(events).toEqual(isBad ? [{ event: "part-rejected", part: "segment", hash: "part", error }] : []);
  });

  it("that is bad is rejected; until all is good again parts are fetched whole", async () => {
    const { fetcher, dropped, events, bases, fetch } = open();
    const error = new Error("it is damaged");
    const load = () => {
      throw error;
    };
    await expect(fetch(() => "text", load)).rejects.toBe(error);
    expect(dropped).toEqual(["segment part"]);
    expect(events).toEqual([{ event: "part-rejected", part: "segment", hash: "part", error }]);
    await fetch(() => "text");
    await fetch(() => "text");
    fetcher.trust();
    await fetch(() => "text");
    expect(bases).toEqual(["before", undefined, undefined, "before"]);
  });

  it("may come from a source that keeps nothing which it could drop", async () => {
    const fetcher = new PartFetcher({}, () => {});
    const request: RequestStep = (_, run) => run(new AbortController().signal);
    const load = () => {
      throw new Error("it is damaged");
    };
    const part = { kind: "root", hash: "part", fetch: async () => "text", load } as const;
    await expect(fetcher.fetch(part, request)).rejects.toThrow("it is damaged");
  });
});
