import type { Clock } from "../../../gateway/clock.ts";
import type { DesiredCursor } from "../../../gateway/desired/desired-cursor.ts";
import { textOf } from "../../../gateway/desired/desired-lines.ts";
import type { ControlLimits } from "./control-limits.ts";

/** What a stream is read from. */
export interface DesiredStreamParts {
  readonly cursor: DesiredCursor;
  /** Seconds until leases expire, by cluster id. */
  readonly leases: () => Readonly<Record<string, number>>;
  readonly clock: Pick<Clock, "now" | "setTimer">;
  readonly limits: Pick<ControlLimits, "controlSeconds" | "controlIdleSeconds">;
  /** Called with the lines of each piece. */
  readonly onLines: (lines: number) => void;
  /** Called when a limit cuts the stream off. */
  readonly onLimit: (limit: "limits.controlIdleSeconds") => void;
  /** Called with the error that cuts the stream off. */
  readonly onError: (error: unknown) => void;
  /** Called once. */
  readonly onEnd: () => void;
}

/** Characters of one piece: what a stream holds beside what the reader has not taken from its connection. */
const PIECE = 64 * 1024;
/** Milliseconds between two lines of leases. */
const SHORTEST_PAUSE = 1000;
const LONGEST_PAUSE = 30_000;
const ENCODER = new TextEncoder();

/**
 * The lines of a desired state as its reader takes them: the state, then changes, and leases at every third of the shortest. It ends after a time, so
 * that proxies and credentials are checked anew, and when the reader takes nothing for too long. Nothing is produced ahead of the reader.
 */
export function streamDesired(parts: DesiredStreamParts): ReadableStream<Uint8Array> {
  const { cursor, clock, limits } = parts;
  let leasesAt = Number.NEGATIVE_INFINITY;
  let isOver = false;
  let isEnded = false;
  let stopWaiting = () => {};
  let stopSlow = () => {};
  const stopOver = clock.setTimer(limits.controlSeconds * 1000, () => {
    isOver = true;
    cursor.wake();
  });
  const end = () => {
    if (isEnded) return;
    isEnded = true;
    stopOver();
    stopSlow();
    stopWaiting();
    cursor.close();
    cursor.wake();
    parts.onEnd();
  };
  const leases = (): string => {
    const left = parts.leases();
    const shortest = Math.min(...Object.values(left)) * 1000;
    leasesAt = clock.now() + Math.max(SHORTEST_PAUSE, Math.min(LONGEST_PAUSE, shortest / 3));
    return textOf({ leases: left });
  };
  const waiting = () =>
    new Promise<void>((resolve) => {
      const stop = clock.setTimer(Math.max(0, leasesAt - clock.now()), resolve);
      stopWaiting = stop;
      cursor.onWake(() => {
        stop();
        resolve();
      });
    });

  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    stopSlow();
    for (;;) {
      if (isEnded) return;
      if (isOver || cursor.isEnded) {
        end();
        controller.close();
        return;
      }
      const { text, lines } = cursor.read(PIECE);
      const isDue = cursor.isIdle && clock.now() >= leasesAt;
      const piece = isDue ? text + leases() : text;
      if (piece === "") {
        await waiting();
        continue;
      }
      parts.onLines(lines + (isDue ? 1 : 0));
      controller.enqueue(ENCODER.encode(piece));
      stopSlow = clock.setTimer(limits.controlIdleSeconds * 1000, () => {
        parts.onLimit("limits.controlIdleSeconds");
        end();
        controller.error(new Error("the reader took nothing for too long"));
      });
      return;
    }
  };
  const fail = (error: unknown): never => {
    end();
    parts.onError(error);
    throw error;
  };

  return new ReadableStream<Uint8Array>(
    { pull: (controller) => pull(controller).catch(fail), cancel: end },
    { highWaterMark: 0 },
  );
}
