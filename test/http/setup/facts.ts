import { readSetupFacts, type SetupFacts, type SetupRequest } from "../../../src/http/setup/facts.ts";

/** Facts of a gateway with all listeners; `changes` override them. */
export function facts(changes: Partial<SetupRequest> = {}): SetupFacts {
  return readSetupFacts({
    url: "https://doh.example.org",
    zone: "clusterset.test",
    example: { name: "web.shop.svc.clusterset.test", type: "A" },
    addresses: ["192.0.2.1"],
    dns: { address: undefined, port: 53 },
    dot: { address: undefined, port: 853 },
    ...changes,
  });
}
