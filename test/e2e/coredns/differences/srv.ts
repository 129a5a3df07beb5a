import type { Pair } from "../comparison.ts";
import { asSet, type ObservedRecord } from "../observed.ts";
import { answersOf } from "./difference.ts";
import { isOdd, isUnnamed, portsOf } from "./service-facts.ts";

/**
 * The SRV records that a service's bare name should have: those that CoreDNS itself has at the names
 * `_<port>._<protocol>` of the ports that can have one.
 */
export function servableAtService({ place, question, all }: Pair): ObservedRecord[] {
  const own = question.name.toLowerCase();
  const records = portsOf(place.service)
    .filter((port) => !isOdd(port) && !isUnnamed(port))
    .flatMap(({ name, protocol }) => {
      const portName = `_${name}._${protocol || "tcp"}.${own}`;
      return answersOf(all, "coredns", portName, "SRV", question.name);
    });
  return asSet(records);
}

/** The addresses of the targets of SRV records, by what CoreDNS answers when it is asked for the targets themselves. */
export function additionalsFor({ all }: Pair, records: readonly ObservedRecord[]): ObservedRecord[] {
  const targets = new Set(records.map(({ data }) => data.split(" ")[2]!));
  return asSet(
    [...targets].flatMap((target) =>
      ["A", "AAAA"].flatMap((type) =>
        answersOf(all, "coredns", target, type, target).filter((record) => record.type === type),
      ),
    ),
  );
}
