import { MANAGED_BY_LABEL, OWN_MANAGER } from "../../extract/objects.ts";
import { ApiError } from "../api-server.ts";
import { describeCauses, type SyncLogger } from "../object-source.ts";
import { pause } from "../pacing.ts";
import type { ApiWriter } from "./api-writer.ts";
import type { ManagedObject } from "./objects.ts";
import { toMicroTime } from "./objects.ts";

/** The Lease, and the process that takes it. */
interface LeaderOptions {
  readonly namespace: string;
  readonly name: string;
  /** Differs between any two processes. */
  readonly identity: string;
  readonly writer: ApiWriter;
  readonly logger: SyncLogger;
}

/** Seconds for which others leave a leader alone after its last renewal, as client-go has it. */
const LEASE_SECONDS = 15;
const RENEW_AFTER = 5_000;
/** After a renewal that failed, so that one failure does not end leadership. */
const RETRY_AFTER = 2_000;
/** A leader that could not renew gives up before others may take over. */
const GIVE_UP_AFTER = 10_000;

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

/**
 * Leader election by a coordination.k8s.io Lease, so that two workers of one cluster never write at the same
 * time. Like client-go's, it trusts no other clock: a lease counts as abandoned when it has not changed for
 * its duration while this process watched.
 */
export class Leader {
  readonly #options: LeaderOptions;
  /** What was logged last, until it ends. */
  #failure: string | undefined;
  #seen: { readonly version: string; readonly at: number } | undefined;

  constructor(options: LeaderOptions) {
    this.#options = options;
  }

  /**
   * Runs `lead` whenever this process leads; its signal aborts when it does not any more. Resolves when
   * `signal` aborts.
   */
  async run(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { heldSince } = await this.#attempt(signal);
      if (heldSince === undefined) await pause(RENEW_AFTER / 2, signal);
      else await this.#lead(lead, heldSince, signal);
    }
  }

  async #lead(
    lead: (signal: AbortSignal) => Promise<void>,
    heldSince: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { logger, name } = this.#options;
    logger.info({ lease: name }, "leads: writes the objects of this cluster");
    const stop = new AbortController();
    // A timer: it also ends a leader whose renewal gets no answer, and is due before all else in a process
    // that was halted.
    const giveUpAfter = (since: number) =>
      setTimeout(() => stop.abort(), since + GIVE_UP_AFTER - performance.now());
    let timer = giveUpAfter(heldSince);
    const ended = AbortSignal.any([signal, stop.signal]);
    const leading = lead(ended);
    let wait = RENEW_AFTER;
    while (await pause(wait, ended)) {
      const renewed = await this.#attempt(ended);
      if (renewed.isOthers) stop.abort();
      wait = renewed.heldSince === undefined ? RETRY_AFTER : RENEW_AFTER;
      if (renewed.heldSince === undefined) continue;
      clearTimeout(timer);
      timer = giveUpAfter(renewed.heldSince);
    }
    clearTimeout(timer);
    await leading;
    if (signal.aborted) await this.#release();
    else logger.warn({ lease: name }, "does not lead any more: the Lease could not be renewed");
  }

  /**
   * Takes or renews the lease. Without an answer of the API server it is neither held nor another process's.
   */
  async #attempt(signal: AbortSignal): Promise<{ readonly heldSince?: number; readonly isOthers?: boolean }> {
    const { writer, logger, name } = this.#options;
    try {
      const lease = await writer.read(this.#lease({}), signal);
      const spec = (lease?.spec ?? {}) as LeaseSpec;
      if (lease !== undefined && !this.#isFree(lease, spec)) {
        this.#failure = undefined;
        return { isOthers: true };
      }
      // Others wait from when they see it written, which is later.
      const heldSince = performance.now();
      if (lease === undefined) await writer.create(this.#lease(this.#spec(undefined)), signal);
      else await writer.replace({ ...lease, spec: this.#spec(spec) }, signal);
      this.#failure = undefined;
      return { heldSince };
    } catch (error) {
      if (signal.aborted) return {};
      // 409: another process was faster.
      if (error instanceof ApiError && error.status === 409) return {};
      const failure = describeCauses(error);
      if (failure !== this.#failure) logger.warn({ lease: name }, `the Lease cannot be taken: ${failure}`);
      this.#failure = failure;
      return {};
    }
  }

  #isFree({ metadata }: ManagedObject, spec: LeaseSpec): boolean {
    const { identity } = this.#options;
    if (!spec.holderIdentity || spec.holderIdentity === identity) return true;
    const version = metadata.resourceVersion ?? "";
    const now = performance.now();
    if (this.#seen?.version !== version) this.#seen = { version, at: now };
    return now - this.#seen.at > (spec.leaseDurationSeconds ?? LEASE_SECONDS) * 1000;
  }

  #spec(before: LeaseSpec | undefined): LeaseSpec {
    const { identity } = this.#options;
    const now = toMicroTime(Date.now());
    const isMine = before?.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: LEASE_SECONDS,
      acquireTime: (isMine ? before.acquireTime : undefined) ?? now,
      renewTime: now,
      leaseTransitions: (before?.leaseTransitions ?? 0) + (before === undefined || isMine ? 0 : 1),
    };
  }

  /** At a clean end another process need not wait. */
  async #release(): Promise<void> {
    const { writer } = this.#options;
    const signal = AbortSignal.timeout(2_000);
    try {
      const lease = await writer.read(this.#lease({}), signal);
      const spec = (lease?.spec ?? {}) as LeaseSpec;
      if (lease !== undefined && spec.holderIdentity === this.#options.identity)
        await writer.replace(
          { ...lease, spec: { ...spec, holderIdentity: "", leaseDurationSeconds: 1 } },
          signal,
        );
    } catch {
      // The lease expires by itself.
    }
  }

  #lease(spec: LeaseSpec): ManagedObject {
    const { namespace, name } = this.#options;
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace, name, labels: { [MANAGED_BY_LABEL]: OWN_MANAGER } },
      spec,
    };
  }
}
