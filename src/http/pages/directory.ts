import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import type { MergedServices } from "../../merge/index/merged-services.ts";
import type { Generation } from "../../zone/generation/generation.ts";
import { listServices, type ServiceListing } from "../../zone/services.ts";

/** A part of a list. */
export interface ListPart<Entry> {
  /** The number of entries of the whole list. */
  readonly total: number;
  readonly entries: readonly Entry[];
}

/** A sentence for people: why this host does not have the list. */
export interface Missing {
  readonly missing: string;
}

/** The requested part of a list. */
export interface ListRange {
  readonly offset: number;
  readonly most: number;
}

/** The requested services. */
export interface ServicesAsked extends ListRange {
  /** Words that `<service>.<namespace>` must contain. */
  readonly words: readonly string[];
  /** A cluster id; undefined for outside. */
  readonly view: string | undefined;
}

type Part<Entry> = ListPart<Entry> | Missing;

/** The lists on the pages. Not every host has all of them. */
export interface Directory {
  services(asked: ServicesAsked): Part<ServiceListing> | Promise<Part<ServiceListing>>;
  conflicts(range: ListRange): Part<Conflict> | Promise<Part<Conflict>>;
  findings(range: ListRange): Part<ClusterFinding> | Promise<Part<ClusterFinding>>;
}

/** The data of a host's answers. Only the host that compiled the generation has conflicts and findings. */
export interface ListedGeneration {
  readonly generation: Generation;
  /** Brings all services into memory; false where there are too many for this host. Absent where they are in memory. */
  readonly complete?: () => Promise<boolean>;
  /** What it is compiled from. Absent on hosts that do not merge. */
  readonly merged?: MergedServices;
  readonly conflicts?: readonly Conflict[];
  readonly findings?: readonly ClusterFinding[];
}

const NOTHING_SERVED = "Nothing is known yet: no cluster has pushed, or every lease has expired.";
const ELSEWHERE = "are known to the primary, which compiles the zones: look at its page.";
const TOO_MANY =
  "There are more services than this host lists: look at the page of the primary, or look a name up.";

/** The directory of the currently served data; `served` returns undefined while there is none. */
export function createDirectory(served: () => ListedGeneration | undefined): Directory {
  const part = <Entry>(list: readonly Entry[] | undefined, what: string, range: ListRange): Part<Entry> =>
    list === undefined
      ? { missing: `${what} ${ELSEWHERE}` }
      : { total: list.length, entries: list.slice(range.offset, range.offset + range.most) };
  return {
    services(asked) {
      const now = served();
      if (now === undefined) return { missing: NOTHING_SERVED };
      const list = () => {
        const { total, services } = listServices(now.generation, asked);
        return { total, entries: services };
      };
      return now.complete?.().then((isComplete) => (isComplete ? list() : { missing: TOO_MANY })) ?? list();
    },
    conflicts(range) {
      const now = served();
      return now === undefined ? { missing: NOTHING_SERVED } : part(now.conflicts, "Conflicts", range);
    },
    findings(range) {
      const now = served();
      return now === undefined ? { missing: NOTHING_SERVED } : part(now.findings, "Findings", range);
    },
  };
}
