import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { GatewayProcess } from "../../harness/processes.ts";
import { Random } from "./random.ts";

/** One connection of an attack. */
export interface Onset {
  /** All that it does follows from these numbers. */
  readonly random: Random;
  /** Records the sent bytes, for the report if the gateway does not survive. */
  readonly sending: (bytes: Buffer) => void;
}

/** Many connections, each of which sends sequences of bytes that a seed decides. */
export interface Attack {
  readonly gateway: GatewayProcess;
  readonly title: string;
  /** The seed of the first connection; the next one has the next seed. */
  readonly seed: number;
  /** How many sequences go out at least. */
  readonly sequences: number;
  /** Connections at the same time. */
  readonly connections: number;
  /**
   * Opens a connection, sends, and closes it.
   * @returns how many sequences the gateway read, the last one perhaps in part
   */
  readonly play: (onset: Onset) => Promise<number>;
}

/** Connections that ended so recently that the gateway may end because of them. */
const RECENT = 8;

/**
 * Carries out an attack.
 * @throws where the gateway ends: with the seeds of the connections that it may have ended of, whose bytes
 * are in a file
 */
export async function carryOut(attack: Attack): Promise<void> {
  const { gateway, title, sequences, connections } = attack;
  const { process } = gateway;
  console.log(`${title}: ABUSE_SEED=${attack.seed} ABUSE_SEQUENCES=${sequences}`);
  const recent: { readonly seed: number; readonly sent: string[] }[] = [];
  let next = attack.seed;
  let done = 0;
  const work = async () => {
    while (done < sequences && process.isRunning) {
      const suspect = { seed: next++, sent: [] as string[] };
      recent.push(suspect);
      if (recent.length > connections + RECENT) recent.shift();
      const sending = (bytes: Buffer) => void suspect.sent.push(bytes.toString("hex"));
      done += await attack.play({ random: new Random(suspect.seed), sending }).catch(async (error) => {
        // An error of a client counts where the gateway goes on; else it is a consequence.
        await Promise.race([process.ended(), sleep(500)]);
        if (process.isRunning) throw error;
        return 0;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(connections, sequences) }, work));
  if (process.isRunning) return;
  const file = join(mkdtempSync(join(tmpdir(), "clusterset-doh-abuse-")), "sent.json");
  writeFileSync(file, JSON.stringify(recent, null, 1));
  const seeds = recent.map(({ seed }) => seed).join(", ");
  const log = process.log().trim().split("\n").slice(-20).join("\n");
  throw new Error(
    `${title}: the gateway ended because of one of the seeds ${seeds}; what they sent is in ${file}, in hex. Its last words:\n${log}`,
  );
}
