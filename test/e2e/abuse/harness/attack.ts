import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

interface Suspect {
  readonly seed: number;
  readonly sent: Buffer[];
}

/** Connections that ended so recently that the gateway may end because of them. */
const RECENT = 8;

/**
 * Carries out an attack.
 * @returns how many connections it took
 * @throws where the gateway ends: with the seeds of the connections that it may have ended of, whose bytes
 * are in a file
 */
export async function carryOut(attack: Attack): Promise<number> {
  const { gateway, title, sequences, connections } = attack;
  console.log(`${title}: ABUSE_SEED=${attack.seed} ABUSE_SEQUENCES=${sequences}`);
  const startedAt = Date.now();
  const recent: Suspect[] = [];
  let next = attack.seed;
  let done = 0;
  const work = async () => {
    while (done < sequences && gateway.process.isRunning) {
      const suspect: Suspect = { seed: next++, sent: [] };
      recent.push(suspect);
      if (recent.length > connections + RECENT) recent.shift();
      const sending = (bytes: Buffer) => void suspect.sent.push(bytes);
      const onset = { random: new Random(suspect.seed), sending };
      const read = await attack.play(onset).catch(unlessEnded(gateway));
      done += read;
    }
  };
  await Promise.all(Array.from({ length: Math.min(connections, sequences) }, work));
  if (!gateway.process.isRunning) throw new Error(report(attack, recent));
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  console.log(`${title}: ${done} sequences over ${next - attack.seed} connections in ${seconds} s`);
  return next - attack.seed;
}

/** An error of a client counts where the gateway goes on; else it is a consequence. */
function unlessEnded(gateway: GatewayProcess): (error: unknown) => Promise<number> {
  return async (error) => {
    await Promise.race([gateway.process.ended(), new Promise((resolve) => setTimeout(resolve, 500))]);
    if (gateway.process.isRunning) throw error;
    return 0;
  };
}

function report({ gateway, title }: Attack, suspects: readonly Suspect[]): string {
  const file = join(mkdtempSync(join(tmpdir(), "clusterset-doh-abuse-")), "sent.json");
  const reported = suspects.map(({ seed, sent }) => ({
    seed,
    sent: sent.map((bytes) => bytes.toString("hex")),
  }));
  writeFileSync(file, JSON.stringify(reported, null, 1));
  const seeds = suspects.map(({ seed }) => seed).join(", ");
  const log = gateway.process.log().trim().split("\n").slice(-20).join("\n");
  return `${title}: the gateway ended because of one of the seeds ${seeds}; what they sent is in ${file}, in hex. Its last words:\n${log}`;
}
