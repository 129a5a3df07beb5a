import { Gateway } from "../../../../src/gateway/gateway.ts";
import { EVERYTHING, type Visibility, visibilityKey } from "../../../../src/merge/visibility/visibility.ts";
import type { Answer } from "../../../../src/resolve/answer.ts";
import { createMemoryStore } from "../../../../src/store/memory-store.ts";
import { holdShared } from "../../../../src/transfer/parts/shared/hold-shared.ts";
import type { PublishedScope } from "../../../../src/transfer/parts/shared/scope-publisher.ts";
import { ScopePublisher } from "../../../../src/transfer/parts/shared/scope-publisher.ts";
import { SharedScopes } from "../../../../src/transfer/parts/shared/shared-scopes.ts";
import type { SharedUpdate } from "../../../../src/transfer/parts/shared/shared-update.ts";
import { FakeClock } from "../../../gateway/fake-clock.ts";
import { realCompiler, realStages } from "../../../gateway/real-stages.ts";
import { encodeQuery } from "../../../resolve/ask.ts";

/** A gateway that compiles into shared memory, and what a thread answers from after each update. */
export async function openShared(scopes: readonly Visibility[] = []) {
  const clock = new FakeClock();
  const gateway = await Gateway.open({
    store: createMemoryStore(),
    stages: { ...realStages(), createCompiler: () => realCompiler({ ttl: 30 }, holdShared) },
    clock,
    scopes,
    limits: { pushDelaySeconds: 5 },
    onEvent: () => {},
  });
  const published = [EVERYTHING, ...scopes].map((scope): [string, PublishedScope] => [
    visibilityKey(scope),
    gateway.within(scope),
  ]);
  const publisher = new ScopePublisher(new Map(published));
  const thread = { isFresh: true, patience: Promise.withResolvers<void>() };
  const openThread = () =>
    new SharedScopes(realStages(), {
      receive: () => {},
      isFresh: () => thread.isFresh,
      patience: () => thread.patience.promise,
    });
  const shared = openThread();
  /** Publishes and takes over what changed. */
  const publish = (): SharedUpdate | undefined => {
    const update = publisher.changes(clock.now());
    // As another thread gets it: bytes in shared memory are shared, everything else is a copy.
    if (update !== undefined) shared.take(structuredClone(update));
    return update;
  };
  const done = async <Result>(promise: Promise<Result>): Promise<Result> => {
    let settled = false;
    promise.then(
      () => (settled = true),
      () => (settled = true),
    );
    for (let turn = 0; !settled && turn < 100_000; turn++) await clock.advance(1);
    return promise;
  };
  /** The answers of the gateway and of the thread. */
  const answers = (name: string, type: string, scope: Visibility = EVERYTHING, view?: string) => {
    const query = encodeQuery(name, type);
    const now = clock.now();
    return [
      gateway.within(scope).answer(query, view, now),
      shared.of(scope).answer(query, view, now) as Answer,
    ];
  };
  return { clock, gateway, publisher, shared, thread, openThread, publish, done, answers };
}
