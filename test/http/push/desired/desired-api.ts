import { Hono } from "hono";
import { createAuthority } from "../../../../src/access/authority.ts";
import { systemClock } from "../../../../src/gateway/clock.ts";
import { createControl } from "../../../../src/gateway/desired.ts";
import { type ControlLimits, createDesiredRoute } from "../../../../src/http/push/desired.ts";
import { createPushRoutes } from "../../../../src/http/push/pushing.ts";
import { LimitCounters } from "../../../../src/limits/counters.ts";
import { EVERYTHING, type Visibility } from "../../../../src/merge/visibility.ts";
import { DesiredLine } from "../../../../src/snapshot/desired-line.ts";
import type { ClusterSnapshot } from "../../../../src/snapshot/schema.ts";
import { sha256 } from "../../../access/authorities.ts";
import { DEFAULT_LIMITS } from "../../../config/default-limits.ts";
import { aboutLine } from "../../../gateway/about-line.ts";
import { FakeClock } from "../../../gateway/fake-clock.ts";
import { putSnapshot } from "../../../gateway/open-gateway.ts";
import { openKeyed } from "../../../gateway/open-keyed.ts";

/** One stream, read line by line. */
export class DesiredReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #rest = "";

  constructor(response: Response) {
    this.#reader = response.body!.getReader();
  }

  /** The next line; undefined at the end. */
  async next(): Promise<DesiredLine | undefined> {
    while (!this.#rest.includes("\n")) {
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#rest += new TextDecoder().decode(value);
    }
    const end = this.#rest.indexOf("\n");
    const line = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end + 1);
    return DesiredLine.parse(JSON.parse(line));
  }

  /** The lines up to the next position, without leases. */
  async batch(): Promise<{ lines: DesiredLine[]; position: string }> {
    const lines: DesiredLine[] = [];
    for (;;) {
      const line = await this.next();
      if (line === undefined) throw new Error("the stream ended");
      if ("position" in line) return { lines, position: line.position };
      if (!("leases" in line)) lines.push(line);
    }
  }

  /** What the lines of the next batch are about. */
  async abouts(): Promise<string[]> {
    return (await this.batch()).lines.map(aboutLine);
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}

/** A gateway whose clusters "a", "b" and "c" have tokens of that name; "a" and "b" may read their state. */
export async function openDesiredApi(given: { limits?: Partial<ControlLimits>; scope?: Visibility } = {}) {
  const visibility = given.scope ?? EVERYTHING;
  const control = createControl([
    { clusterId: "a", visibility },
    { clusterId: "b", visibility: EVERYTHING },
  ]);
  const gateway = openKeyed({ clock: systemClock, control });
  const authority = createAuthority({
    secrets: ["a", "b", "c"].map((clusterId) => ({
      holder: {
        credential: clusterId,
        clusterId,
        control: clusterId === "a" ? visibility : clusterId === "b" ? EVERYTHING : undefined,
      },
      tokenSha256: sha256(clusterId),
    })),
  });
  const clock = new FakeClock();
  const counters = new LimitCounters();
  const counts = { streams: 0, lines: 0 };
  const limits = { ...DEFAULT_LIMITS, ...given.limits };
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const routes = createPushRoutes({
    gateway,
    authority,
    limits,
    counters,
    onError,
    openDesired: createDesiredRoute({ gateway, clock, counters, counts, limits, onError }),
  });
  const app = new Hono().route("/api/v1/clusters", routes);
  const get = async (clusterId: string, after?: string, token = clusterId, method = "GET") => {
    const search = after === undefined ? "" : `?after=${after}`;
    const headers = { authorization: `Bearer ${token}` };
    return app.request(`http://gateway/api/v1/clusters/${clusterId}/desired${search}`, { method, headers });
  };
  return {
    gateway,
    clock,
    /** Lets time pass for streams, and the timers run that are due then. */
    pass: (milliseconds: number) => {
      clock.stall(milliseconds);
      return clock.turn();
    },
    counters,
    counts,
    errors,
    get,
    open: async (clusterId: string, after?: string) => new DesiredReader(await get(clusterId, after)),
    push: (snapshot: ClusterSnapshot) => putSnapshot(gateway, snapshot),
  };
}
