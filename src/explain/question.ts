import { type FoldedName, labelText } from "../dns/name.ts";
import { findZone } from "../resolve/resolve.ts";
import { CLUSTERSET_TREE } from "../zone/name-tree.ts";
import type { Frame, TreeKey, Zone } from "../zone/world.ts";

/** A question with its answer. */
export interface AnsweredQuestion {
  /** In master-file form. */
  readonly name: string;
  readonly type: number;
  /** A cluster id or the view of a locality; undefined for outside. */
  readonly view: string | undefined;
  /** Whether another name server answered. */
  readonly isForwarded: boolean;
  /** The response code. */
  readonly status: number;
  /** Those of the answer section. */
  readonly records: readonly { readonly name: string; readonly type: number; readonly data: string }[];
}

/** Where a name is, by its form. */
export interface Subject {
  readonly zone: Zone;
  /** The index of the tree that the zone is in the view. */
  readonly tree: number;
  readonly key: TreeKey;
  /** The labels before the zone, in lower case, leftmost first. */
  readonly labels: readonly string[];
  /** The service of the clusterset that the name belongs to, whether or not it exists. */
  readonly service?: NamedService | undefined;
}

/** A service by its name. */
export interface NamedService {
  readonly namespace: string;
  readonly name: string;
  /** `<namespace>/<name>`. */
  readonly key: string;
  /** The labels before the service: a port, or an endpoint. */
  readonly below: readonly string[];
}

/** Reads a name in a zone of a view; undefined for a name out of zone. @param view its index */
export function readSubject(frame: Frame, name: FoldedName, view: number): Subject | undefined {
  const zone = findZone(frame, name, view);
  if (zone === undefined) return undefined;
  const tree = frame.treeFor(zone, view);
  const { key } = frame.trees[tree]!;
  const labels = labelsOf(name, name.labels - zone.labels);
  return { zone, tree, key, labels, service: serviceOf(key, labels) };
}

/** The first labels of a name, in lower case, leftmost first. */
export function labelsOf(name: FoldedName, count: number): string[] {
  return Array.from({ length: count }, (_, label) => labelText(name, label));
}

/**
 * `<below>.<service>.<ns>.svc` in the clusterset zone, `<below>.<service>.<ns>.<federation>.svc[.<place>]` in
 * a federation's. The names of a cluster's own zone belong to its own Services.
 */
function serviceOf(key: TreeKey, labels: readonly string[]): NamedService | undefined {
  const isFederation = key.startsWith("federation:");
  if (key !== CLUSTERSET_TREE && !isFederation) return undefined;
  const svc = isFederation ? labels.lastIndexOf("svc") : labels.length - 1;
  if (labels[svc] !== "svc") return undefined;
  const at = svc - (isFederation ? 3 : 2);
  const [name, namespace] = [labels[at], labels[at + 1]];
  if (at < 0 || name === undefined || namespace === undefined) return undefined;
  return { namespace, name, key: `${namespace}/${name}`, below: labels.slice(0, at) };
}
