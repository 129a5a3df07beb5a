import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import type { ZoneImage } from "../../zone/image.ts";
import { listServices, type ServiceListing } from "../../zone/services.ts";

/** A part of a list. */
export interface ListPart<Entry> {
  /** How many entries the whole list has. */
  readonly total: number;
  readonly entries: readonly Entry[];
}

/** Says in a sentence, for people, why a list cannot be had here. */
export interface Missing {
  readonly missing: string;
}

/** Which part of a list is asked for. */
export interface ListRange {
  readonly offset: number;
  readonly most: number;
}

/** Which services are asked for. */
export interface ServicesAsked extends ListRange {
  /** Words that all stand in `<service>.<namespace>`. */
  readonly words: readonly string[];
  /** A cluster id, undefined for askers outside. */
  readonly view: string | undefined;
}

type Part<Entry> = ListPart<Entry> | Missing;

/** What the pages show beside answers, part by part. Hosts differ in what they know of it. */
export interface Directory {
  services(asked: ServicesAsked): Part<ServiceListing> | Promise<Part<ServiceListing>>;
  conflicts(range: ListRange): Part<Conflict> | Promise<Part<Conflict>>;
  findings(range: ListRange): Part<ClusterFinding> | Promise<Part<ClusterFinding>>;
}

/** What a host answers from. Conflicts and findings are there where the image was compiled. */
export interface ListedImage {
  readonly image: ZoneImage;
  readonly conflicts?: readonly Conflict[];
  readonly findings?: readonly ClusterFinding[];
}

const NOTHING_SERVED = "Nothing is known yet: no cluster has pushed, or every lease has expired.";
const ELSEWHERE = "are known to the primary, which compiles the image: look at its page.";

/** The directory of what is served at the time of the call; `served` gives undefined while nothing is. */
export function createDirectory(served: () => ListedImage | undefined): Directory {
  const part = <Entry>(list: readonly Entry[] | undefined, what: string, range: ListRange): Part<Entry> =>
    list === undefined
      ? { missing: `${what} ${ELSEWHERE}` }
      : { total: list.length, entries: list.slice(range.offset, range.offset + range.most) };
  return {
    services(asked) {
      const now = served();
      if (now === undefined) return { missing: NOTHING_SERVED };
      const { total, services } = listServices(now.image, asked);
      return { total, entries: services };
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
