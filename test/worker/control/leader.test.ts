import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ApiError } from "../../../src/worker/api-server.ts";
import type { ApiWriter } from "../../../src/worker/control/api-writer.ts";
import { Leader } from "../../../src/worker/control/leader.ts";
import type { ManagedObject } from "../../../src/worker/control/objects.ts";
import { KeptLogs } from "../logs.ts";

// The timers of node:timers/promises are not faked.
vi.mock("../../../src/worker/pacing.ts", () => ({
  pause: (milliseconds: number, signal: AbortSignal) =>
    new Promise<boolean>((resolve) => {
      if (signal.aborted) return resolve(false);
      const timer = setTimeout(() => resolve(true), milliseconds);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve(false);
      });
    }),
}));

beforeEach(() => {
  vi.useFakeTimers();
  logger = new KeptLogs();
});

afterEach(() => {
  vi.useRealTimers();
});

let logger: KeptLogs;

/** One Lease, as an API server keeps it. */
class Leases {
  lease: ManagedObject | undefined;
  #version = 0;

  put(object: ManagedObject): ManagedObject {
    this.lease = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    return this.lease;
  }

  /** A connection to it; `answer` holds every request up until it resolves. */
  connection(answer: (signal: AbortSignal) => Promise<unknown> = async () => undefined): ApiWriter {
    const writer: Pick<ApiWriter, "read" | "create" | "replace"> = {
      read: async (_, signal) => {
        await answer(signal);
        return this.lease;
      },
      create: async (object, signal) => {
        await answer(signal);
        if (this.lease !== undefined) throw new ApiError("POST", 409, "");
        return this.put(object);
      },
      replace: async (object, signal) => {
        await answer(signal);
        if (object.metadata.resourceVersion !== this.lease?.metadata.resourceVersion)
          throw new ApiError("PUT", 409, "");
        return this.put(object);
      },
    };
    return writer as ApiWriter;
  }
}

/** A process that wants to lead, and whether it does. */
function candidate(leases: Leases, identity: string, answer?: (signal: AbortSignal) => Promise<unknown>) {
  const state = { leads: false };
  const lead = async (signal: AbortSignal) => {
    state.leads = true;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    state.leads = false;
  };
  const writer = leases.connection(answer);
  const leader = new Leader({ namespace: "n", name: "l", identity, writer, logger });
  void leader.run(lead, new AbortController().signal);
  return { state };
}

const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1000);
const noAnswer = (signal: AbortSignal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));

describe("two processes and one Lease", () => {
  type Candidate = ReturnType<typeof candidate>;
  /** Waits until the second one leads; both never do. */
  async function untilTaken(first: Candidate, second: Candidate): Promise<void> {
    for (let tick = 0; tick < 400 && !second.state.leads; tick++) {
      await seconds(0.1);
      expect(first.state.leads && second.state.leads).toBe(false);
    }
    expect([first.state.leads, second.state.leads]).toEqual([false, true]);
  }

  test.each([0, 4, 9, 14])(
    "a leader without an answer from second %i on has ended before the other one leads",
    async (silentFrom) => {
      const leases = new Leases();
      let isSilent = false;
      const answer = (signal: AbortSignal) => (isSilent ? noAnswer(signal) : Promise.resolve());
      const first = candidate(leases, "first", answer);
      await seconds(0);
      const second = candidate(leases, "second");
      await seconds(silentFrom);
      isSilent = true;
      await untilTaken(first, second);
    },
  );

  test("a leader whose renewals are answered late counts from when it sent them", async () => {
    const leases = new Leases();
    let delay = 0;
    const slow = async () => {
      if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
    };
    const first = candidate(leases, "first", slow);
    await seconds(0);
    const second = candidate(leases, "second");
    delay = 4_900;
    // Until the renewal has been stored, and its answer is on its way; then nothing any more.
    await seconds(14.9);
    delay = 1_000_000;
    await untilTaken(first, second);
  });

  test("a leader whose renewal fails once goes on, and ends at once when it sees another one's name", async () => {
    const leases = new Leases();
    let failures = 0;
    const failing = async () => {
      if (failures-- > 0) throw new ApiError("GET", 500, "");
    };
    const first = candidate(leases, "first", failing);
    await seconds(4);
    failures = 1;
    for (let second = 0; second < 20; second++) {
      await seconds(1);
      expect(first.state.leads).toBe(true);
    }
    leases.put({ ...leases.lease!, spec: { ...(leases.lease!.spec as object), holderIdentity: "other" } });
    await seconds(5);
    expect(first.state.leads).toBe(false);
  });
});

test("a Lease that cannot be taken is logged once, and again where the reason is another one or came back", async () => {
  const leases = new Leases();
  let failure: string | undefined = "forbidden";
  const answer = async () => {
    if (failure !== undefined) throw new ApiError("GET /lease", 403, failure);
  };
  const { state } = candidate(leases, "first", answer);
  await seconds(60);
  failure = "not yet";
  await seconds(60);
  failure = undefined;
  await seconds(3);
  expect(state.leads).toBe(true);
  failure = "not yet";
  await seconds(20);
  const logged = logger.lines.filter((line) => line.includes("cannot be taken"));
  const reasons = ["forbidden", "not yet", "not yet"];
  expect(logged).toEqual(reasons.map((one) => `warn: the Lease cannot be taken: GET /lease: 403 ${one}`));
});
