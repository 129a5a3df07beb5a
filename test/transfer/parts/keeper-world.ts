import { drain } from "../../../src/snapshot/drain.ts";
import { GenerationKeeper } from "../../../src/transfer/generation-keeper.ts";
import type { AnySegment } from "../../../src/transfer/parts/any-segment.ts";
import type { RequestStep } from "../../../src/transfer/parts/part-fetcher.ts";
import type { SegmentCache } from "../../../src/transfer/parts/segment-cache.ts";
import { Primary, type TransferGateway } from "../../../src/transfer/primary.ts";
import type { TransferEvent } from "../../../src/transfer/transfer-events.ts";
import type { NamedBytes, TransferSource } from "../../../src/transfer/transfer-state.ts";
import { ZoneCompiler } from "../../../src/zone/compiler/zone-compiler.ts";
import type { Branch, Page } from "../../../src/zone/generation/directory.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import { NO_HISTORY } from "../../../src/zone/reverse/reverse-history.ts";
import { exported, snapshot } from "../../merge/fixtures.ts";
import { SMALL, source as sourceOf } from "../../zone/compile-worlds.ts";

/** Enough that some slots of the top pages need pages of their own. */
const SERVICES = 120;

/** A generation of services in small segments, so that its directories have pages below their tops. @param changed services with another port: one segment each differs */
export function compileSmall(changed: readonly number[] = [], serial = 1): Generation {
  const exports = Object.fromEntries(
    Array.from({ length: SERVICES }, (_, index) => {
      const address = `10.1.${index >> 8}.${index & 255}`;
      const port = changed.includes(index) ? 9090 : 8080;
      const ports = [{ name: "http", protocol: "TCP", port }];
      const group = { ports, members: { [address]: { address } } };
      return [`shop/web-${index}`, exported({ headless: true, endpoints: { http: group } })];
    }),
  );
  const world = sourceOf([snapshot("west", { namespaces: { shop: {} }, exports })]);
  const compiler = new ZoneCompiler({}, SMALL);
  return drain(compiler.compile(world, "all", { serial, history: NO_HISTORY })).generation;
}

/** A keeper, and a primary that serves one generation after the other. */
export function openKeeper(cache?: SegmentCache<AnySegment>) {
  const events: TransferEvent[] = [];
  const requests: { readonly hash: string; readonly since: string | undefined }[] = [];
  const served: {
    generation?: Generation;
    failing: (hash: string) => boolean;
    gone: (hash: string) => boolean;
  } = {
    failing: () => false,
    gone: () => false,
  };
  const gateway = {
    status: () => ({ ready: true, generationBytes: 0, services: 0, clusters: [] }),
    current: () => served,
  } as unknown as TransferGateway;
  const primary = new Primary(gateway, () => 0).of("")!;
  const bytesOf = (
    hash: string,
    since: NamedBytes | undefined,
    part: { readonly bytes: Uint8Array<ArrayBuffer> } | undefined,
  ) => {
    requests.push({ hash, since: since?.hash });
    if (served.failing(hash)) throw new Error("connection refused");
    return served.gone(hash) ? undefined : part?.bytes;
  };
  const source = {
    root: async (hash, since) => {
      const bytes = bytesOf(hash, since, primary.root(hash, ""));
      return bytes && { bytes, segments: [] };
    },
    segment: async (hash, since) => bytesOf(hash, since, primary.segment(hash, "")),
  } as TransferSource;
  const keeper = new GenerationKeeper(source, (event) => void events.push(event), cache);
  const request: RequestStep = (_, run) => run(new AbortController().signal);
  const fetch = (generation: Generation, serial = generation.serial) => {
    served.generation = generation;
    requests.length = 0;
    return keeper.fetch(generation.rootHash, serial, 0, request);
  };
  return { keeper, events, requests, served, request, fetch };
}

/** All pages below the tops, and all segments of a generation, by hash, with their bytes; and in how many places they are. */
export function partsOf({ names, reverse }: Generation) {
  const pages = new Map<string, Uint8Array>();
  const segments = new Map<string, Uint8Array>();
  let count = 0;
  const add = ({ entries }: Page<AnySegment>) => {
    for (const { branch } of entries) {
      count++;
      if (branch.page !== undefined) {
        pages.set(branch.hash, branch.page.bytes);
        add(branch.page);
      }
      if (branch.segment !== undefined) segments.set(branch.hash, branch.segment.bytes);
    }
  };
  add(names);
  add(reverse);
  return { pages, segments, count };
}

/** The branches of the top pages. */
export function branchesOf({ names, reverse }: Generation): Branch<AnySegment>[] {
  return [...names.entries, ...reverse.entries].map(({ branch }) => branch);
}
