import type { FoldedName } from "../../dns/folded-name.ts";
import { check } from "../segment/blob.ts";
import { runLabels } from "../segment/blocks/label-run.ts";
import { hashBlob } from "../segment/hash.ts";
import { NodeFlag, POD_NAMES } from "../segment/layout.ts";
import { apexHash, hashLabel, reverseHash } from "../segment/name-hash.ts";
import { findSet } from "../segment/record-block.ts";
import type { ReverseSegment } from "../segment/reverse-segment.ts";
import type { Segment } from "../segment/segment.ts";
import { CLUSTERSET_TREE } from "../segment/tree-key.ts";
import type { Location, Missing, Names, PtrTarget, World } from "../world.ts";
import type { Page } from "./directory.ts";
import type { Frame, Zone } from "./frame.ts";
import { findStem, locate } from "./locate.ts";
import { writeRoot } from "./root.ts";

// ns.dns, the name server's name below each zone.
const NO_LABELS = new Uint8Array();
const NAME_SERVER = Uint8Array.from([2, 110, 115, 3, 100, 110, 115]);

/** The frame and the segment of all names that are shorter than a service: what a query needs before it needs a segment. */
export class Trunk {
  readonly frame: Frame;
  readonly stems: Segment;
  /** The node of `ns.dns` in each tree. */
  readonly nameServers: readonly number[];
  /** The node of the apex of each tree. */
  readonly apexes: readonly number[];
  /** By node of the stems: index of the namespace that it is in the clusterset, or -1. */
  readonly #namespaces = new Map<number, number>();

  /** @throws {FormatError} if the stems lack what every zone has */
  constructor(frame: Frame, stems: Segment) {
    this.frame = frame;
    this.stems = stems;
    check(
      frame.trees.length === stems.trees.length &&
        frame.trees.every(({ key }, tree) => stems.trees[tree] === key),
      "the stems have other trees than the frame",
    );
    this.apexes = frame.trees.map(({ hash }, tree) => {
      const node = stems.findNode(tree, NO_LABELS, 0, 0, apexHash(hash, stems.seed));
      check(node >= 0, "a zone has no apex");
      return node;
    });
    this.nameServers = frame.trees.map(({ hash }, tree) => {
      const dns = hashLabel(apexHash(hash, stems.seed), NAME_SERVER, 4, 3);
      const node = stems.findNode(
        tree,
        NAME_SERVER,
        0,
        NAME_SERVER.length,
        hashLabel(dns, NAME_SERVER, 1, 2),
      );
      check(node >= 0, "a zone has no name server");
      return node;
    });
    const clusterset = stems.treeOf(CLUSTERSET_TREE);
    for (const node of stems.nodes())
      if (stems.hasFlag(node, NodeFlag.stem) && stems.treeAbove(node) === clusterset) {
        const [label] = runLabels(stems.bytes, stems.runOf(node));
        if (label !== undefined) this.#namespaces.set(node, frame.namespaceOf(label));
      }
  }

  /** Whether the cluster of a view, by its index, lacks the namespace that a node of the stems is. */
  lacks(view: number, stem: number): boolean {
    return view >= 0 && this.frame.lacks(view, this.#namespaces.get(stem) ?? -1);
  }
}

/** What is answered from: a root with its segments, and a serial. Immutable, but for segments that come into memory later. */
export class Generation implements World {
  /** The hash of the root; equal for equal content, independent of the serial. */
  readonly rootHash: string;
  /** SOA serial (RFC 1035 section 3.3.13). */
  readonly serial: number;
  readonly root: Uint8Array<ArrayBuffer>;
  readonly trunk: Trunk;
  readonly names: Page<Segment>;
  readonly reverse: Page<ReverseSegment>;

  constructor(serial: number, trunk: Trunk, names: Page<Segment>, reverse: Page<ReverseSegment>) {
    this.serial = serial;
    this.trunk = trunk;
    this.names = names;
    this.reverse = reverse;
    const { frame, stems } = trunk;
    this.root = writeRoot({
      ...{ frame: frame.hash, stems: stems.hash },
      ...{ names: names.hash, reverse: reverse.hash },
    });
    this.rootHash = hashBlob(this.root);
  }

  get frame(): Frame {
    return this.trunk.frame;
  }

  get stems(): Segment {
    return this.trunk.stems;
  }

  locate(zone: Zone, tree: number, name: FoldedName, view: number): Location | Missing | undefined {
    return locate(this, zone, tree, name, view);
  }

  apex(tree: number): Location {
    return { names: this.stems, node: this.trunk.apexes[tree]! };
  }

  nameServer(tree: number): Location {
    return { names: this.stems, node: this.trunk.nameServers[tree]! };
  }

  podNames(zone: Zone, tree: number, name: FoldedName): { names: Names; set: number } | undefined {
    const { frame, stems } = this;
    const namespace = frame.podNames ? findStem(this, zone, tree, name, 1) : -1;
    const list = namespace < 0 ? 0 : stems.setListOf(namespace, -1);
    const set = list === 0 ? 0 : findSet(stems.bytes, list, POD_NAMES);
    return set === 0 ? undefined : { names: stems, set };
  }

  ptrTarget(address: Uint8Array, view: number): PtrTarget | Missing | undefined {
    const { frame } = this;
    const branch = this.reverse.find(reverseHash(address, address.length));
    const { segment } = branch;
    if (segment === undefined) return { missing: branch };
    const target = segment.find(address, address.length, frame.viewName(view));
    if (target === 0) return undefined;
    const key = segment.treeOf(target);
    const name = segment.nameOf(target, address);
    const isLacking =
      view >= 0 && key === CLUSTERSET_TREE && frame.lacks(view, frame.namespaceOf(namespaceOf(name)));
    const zone = isLacking ? undefined : frame.treeByKey.get(key)?.canonicalZone;
    if (zone === undefined) return undefined;
    return {
      leased: segment,
      leaseGroup: segment.leaseGroupOf(target),
      ttl: segment.ttlOf(target),
      name,
      zone,
    };
  }

  /** The length of all blobs that are in memory. */
  get byteLength(): number {
    const { root, frame, stems, names, reverse } = this;
    return root.length + frame.bytes.length + stems.bytes.length + names.byteLength + reverse.byteLength;
  }

  /** The segments of names that are in memory. */
  *segments(): Generator<Segment> {
    yield* this.names.segments();
  }

  /** The segments of reverse names that are in memory. */
  *reverseSegments(): Generator<ReverseSegment> {
    yield* this.reverse.segments();
  }
}

/** The last label but one of a relative name: `<ns>` before `svc`. */
function namespaceOf(name: Uint8Array): string {
  let before = 0;
  let last = 0;
  for (let at = 0; at < name.length; at += name[at]! + 1) {
    before = last;
    last = at;
  }
  return String.fromCharCode(...name.subarray(before + 1, last));
}
