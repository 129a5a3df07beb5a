import { claimBucket, hexOf } from "../database/places.ts";
import { formatAddress } from "../dns/address.ts";
import { endsStep, type Steps } from "../dns/steps.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import { nameOf, namespaceOf } from "../merge/order.ts";
import type { ReverseCandidate } from "../zone/kinds/tree-scope.ts";
import type { PlannedTree } from "../zone/zone-context.ts";
import type { CompiledUnit } from "./compile-key.ts";
import type { AddressClaim } from "./entries.ts";
import type { KeyWorld } from "./key-world.ts";
import { compareAddresses, type Holding, holderOf, type WantedNames } from "./reverse-names.ts";

/** Addresses that one finding lists. */
const MOST_LISTED = 5;
/** Addresses of other services that are held at once, to look up what they want. */
const MOST_HELD = 100_000;

/**
 * The reverse names that a service does not have because another cluster reported the addresses first: a
 * finding for each cluster that would have them.
 * @param key `<namespace>/<name>`
 */
export function* reverseLosses(world: KeyWorld, key: string): Steps<ClusterFinding[]> {
  const { reverse } = yield* world.unitInSteps(world.context.trees[0]!, key);
  const buckets = yield* grouped(reverse, ([address]) => claimBucket(hexOf(address)));
  const claimants = new Claimants(world);
  const seen = new Set<string>();
  const losses = new Map<string, [address: Uint8Array, holding: Holding][]>();
  let count = 0;
  for (const [bucket, wanted] of buckets) {
    yield;
    const claims = world.entries.claimsIn(bucket);
    // Most addresses are of one cluster alone.
    if (claims.clusters < 2) continue;
    for (const [address, { source, label }] of wanted) {
      if (endsStep(count++)) yield;
      const [loser] = source.claimants;
      const hex = hexOf(address);
      const id = `${hex} ${source.claimants}`;
      if (loser === undefined || source.view !== undefined || seen.has(id)) continue;
      seen.add(id);
      const found = claims.on(hex, world.rules.pins);
      if (found.every(({ clusterId }) => clusterId === found[0]!.clusterId)) continue;
      const candidates = new Map<AddressClaim, readonly ReverseCandidate[]>();
      for (const claim of found) {
        if (endsStep(count++)) yield;
        candidates.set(claim, yield* claimants.candidatesOf(claim, address));
      }
      const holding = holderOf(found, (claim) => candidates.get(claim)!);
      if (holding === undefined || (holding.without !== "lost" && holding.claim.clusterId === loser))
        continue;
      if (holding.candidate !== undefined && textOf(holding.candidate) === textOf({ source, label }))
        continue;
      const lost = losses.get(loser) ?? [];
      losses.set(loser, lost);
      lost.push([address, holding]);
    }
  }
  return Array.from(losses, ([clusterId, lost]) => ({
    clusterId,
    reason: "ReverseNameTaken",
    kind: "Service",
    namespace: namespaceOf(key),
    name: nameOf(key),
    message: describeLosses(lost),
  }));
}

/** A service, with the PTR records that its addresses want, by address in hex. */
interface Claimant {
  readonly unit: CompiledUnit;
  readonly wanted: ReadonlyMap<string, WantedNames>;
}

/** What services want for addresses, for all views. */
class Claimants {
  readonly #world: KeyWorld;
  readonly #known = new Map<string, Claimant>();
  #held = 0;

  constructor(world: KeyWorld) {
    this.#world = world;
  }

  *candidatesOf(claim: AddressClaim, address: Uint8Array): Steps<readonly ReverseCandidate[]> {
    const planned = this.#world.treeOfClaim(claim);
    if (planned === undefined) return [];
    const { unit, wanted } = yield* this.#claimant(planned, claim.key);
    const candidates = (wanted.get(hexOf(address)) ?? []).map(([, candidate]) => candidate);
    return unit.hasAudiences ? this.#world.visible(candidates, unit, planned, address, -1) : candidates;
  }

  *#claimant(planned: PlannedTree, key: string): Steps<Claimant> {
    const id = `${planned.key} ${key}`;
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const unit = yield* this.#world.unitInSteps(planned, key);
    const wanted = yield* grouped(unit.reverse, ([address]) => hexOf(address));
    this.#held += unit.reverse.length;
    if (this.#held > MOST_HELD) {
      this.#known.clear();
      this.#held = unit.reverse.length;
    }
    const claimant = { unit, wanted };
    this.#known.set(id, claimant);
    return claimant;
  }
}

function* grouped<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): Steps<ReadonlyMap<string, readonly Item[]>> {
  const groups = new Map<string, Item[]>();
  for (const [index, item] of items.entries()) {
    if (endsStep(index)) yield;
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

function textOf({ source, label }: ReverseCandidate): string {
  return [label, ...source.above].join(".");
}

function describeLosses(losses: [address: Uint8Array, holding: Holding][]): string {
  const lowest = losses.sort(([one], [other]) => compareAddresses(one, other)).slice(0, MOST_LISTED);
  const lines = lowest.map(([address, { claim, without }]) => {
    const text = formatAddress(address);
    if (without === "lost")
      return `${text} (the gateway lost which cluster reported it first: it has no reverse name until one cluster alone reports it)`;
    const hidden = without === "hidden" ? ", which has no reverse names now" : "";
    return `${text} is of ${claim.key} in ${JSON.stringify(claim.clusterId)}${hidden}`;
  });
  const more = losses.length - lines.length;
  return `other clusters had the reverse names first: ${lines.join(", ")}${more > 0 ? `, and of ${more} more addresses` : ""}`;
}
