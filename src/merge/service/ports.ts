import type { ServicePort } from "../../snapshot/schema.ts";
import type { Declaration } from "./declaration.ts";

/** A port of the union, with the cluster whose definition is used. */
export interface UnitedPort {
  readonly port: ServicePort;
  readonly winner: string;
  /** Clusters that define a port of this name or of this protocol and number otherwise. */
  readonly setAside: readonly string[];
}

/** The ports of all declarations taken together. */
export interface PortUnion {
  readonly united: readonly UnitedPort[];
  /** Clusters that lack a port of the first declaration, or add one to it. */
  readonly differing: readonly string[];
  /** Ports that break the two rules within their own object, where no other cluster is to blame. */
  readonly duplicates: readonly { readonly clusterId: string; readonly port: ServicePort }[];
}

/**
 * The union of the declared ports, merged first by name, then by protocol and number, so that no name
 * (the empty one included) and no protocol with number occurs twice; earlier declarations win
 * (KEP-1645, Service Port).
 */
export function unitePorts(declarations: readonly Declaration[]): PortUnion {
  const united: { port: ServicePort; winner: string; setAside: string[] }[] = [];
  const byName = new Map<string, number>();
  const byNumber = new Map<string, number>();
  const covered: Set<number>[] = [];
  const duplicates: { clusterId: string; port: ServicePort }[] = [];
  for (const { clusterId, ports } of declarations) {
    const covers = new Set<number>();
    covered.push(covers);
    for (const port of ports) {
      const number = `${port.port}/${port.protocol}`;
      const index = byName.get(port.name) ?? byNumber.get(number);
      if (index === undefined) {
        byName.set(port.name, united.length);
        byNumber.set(number, united.length);
        covers.add(united.length);
        united.push({ port, winner: clusterId, setAside: [] });
        continue;
      }
      covers.add(index);
      const standing = united[index]!;
      if (samePort(standing.port, port)) continue;
      if (standing.winner === clusterId) duplicates.push({ clusterId, port });
      else if (standing.setAside.at(-1) !== clusterId) standing.setAside.push(clusterId);
    }
  }
  const differing = declarations
    .filter((_, index) => !sameMembers(covered[index]!, covered[0]!))
    .map(({ clusterId }) => clusterId);
  return { united, differing, duplicates };
}

/** A port as conflicts name it: `http:80/TCP`, with `appProtocol` behind it where there is one. */
export function describePort({ name, port, protocol, appProtocol }: ServicePort): string {
  return `${name === "" ? "" : `${name}:`}${port}/${protocol}${appProtocol ? ` appProtocol=${appProtocol}` : ""}`;
}

function samePort(left: ServicePort, right: ServicePort): boolean {
  return (
    left.name === right.name &&
    left.port === right.port &&
    left.protocol === right.protocol &&
    (left.appProtocol ?? "") === (right.appProtocol ?? "")
  );
}

function sameMembers(left: ReadonlySet<number>, right: ReadonlySet<number>): boolean {
  if (left.size !== right.size) return false;
  for (const member of left) if (!right.has(member)) return false;
  return true;
}
