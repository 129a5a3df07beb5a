import type { ScopeState, TransferGateway } from "../primary.ts";

/**
 * What secondaries get of a gateway that is starting: in each scope with a stored generation that one, until the gateway has compiled its
 * own. Call it for a scope only once `serves` returns true.
 */
export class StartingGateway implements TransferGateway {
  readonly scopes: ReadonlyMap<string, ScopeState>;
  readonly #resumed: ReadonlyMap<string, ScopeState>;
  #opened: TransferGateway | undefined;

  /**
   * @param scopes every scope, by `visibilityKey`
   * @param resumed those with a stored generation
   */
  constructor(scopes: Iterable<string>, resumed: ReadonlyMap<string, ScopeState>) {
    this.#resumed = resumed;
    this.scopes = new Map(Array.from(scopes, (scope) => [scope, this.#stateOf(scope)]));
  }

  /** Takes over the gateway, which has started. */
  open(gateway: TransferGateway): void {
    this.#opened = gateway;
  }

  /** Whether a scope is served, or known not to exist. */
  serves(scope: string): boolean {
    return this.#opened !== undefined || this.#resumed.has(scope) || !this.scopes.has(scope);
  }

  status(): ReturnType<ScopeState["status"]> {
    return this.scopes.get("")!.status();
  }

  current(now: number): ReturnType<ScopeState["current"]> {
    return this.scopes.get("")!.current(now);
  }

  #stateOf(scope: string): ScopeState {
    const served = () => {
      const opened = scope === "" ? this.#opened : this.#opened?.scopes?.get(scope);
      return opened ?? this.#resumed.get(scope)!;
    };
    return { status: () => served().status(), current: (now) => served().current(now) };
  }
}
