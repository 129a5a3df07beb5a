import type { Random } from "../../../abuse/harness/random.ts";
import type { FaultProxy } from "../../../servers/network.ts";
import type { Engine } from "./engine.ts";
import type { Gateways, Member } from "./gateways.ts";

/** Something that fails, until it is repaired. */
export interface Fault {
  readonly name: string;
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
}

/** Faults of the engine, of which there is one at a time. */
function engineFaults(engine: Engine, gateways: Gateways): readonly Fault[] {
  const loseData = async (lose: () => Promise<void>) => {
    gateways.losing();
    await lose();
    gateways.lost();
  };
  return [
    { name: "the engine is killed", begin: () => engine.kill(), end: () => engine.startAgain() },
    { name: "the engine halts", begin: () => engine.halt(), end: () => engine.resume() },
    {
      name: "the engine is killed and loses its disk",
      begin: () =>
        loseData(async () => {
          await engine.kill();
          engine.loseDisk();
        }),
      end: () => engine.startAgain(),
    },
    { name: "the engine loses its data", begin: () => loseData(() => engine.loseData()), end: () => {} },
  ];
}

function linkFaults(name: string, link: FaultProxy, random: Random): readonly Fault[] {
  const end = () => link.heal();
  const milliseconds = [20, 200, 1500][random.below(3)]!;
  return [
    { name: `the link of ${name} delays ${milliseconds} ms`, begin: () => link.delay(milliseconds), end },
    { name: `the link of ${name} is cut`, begin: () => link.cut(), end },
    { name: `the link of ${name} is half open`, begin: () => link.swallow(), end },
    { name: `the link of ${name} refuses`, begin: () => link.refuse(), end },
  ];
}

function processFaults(member: Member): readonly Fault[] {
  return [
    { name: `${member.name} is killed`, begin: () => member.kill(), end: () => member.restart() },
    { name: `${member.name} halts`, begin: () => member.halt(), end: () => member.resume() },
  ];
}

/**
 * Faults that are there at the same time: of one gateway or two a process or a link, and sometimes the
 * engine. They are repaired in this order: a gateway needs the engine to start.
 */
export function chooseFaults(engine: Engine, gateways: Gateways, random: Random): readonly Fault[] {
  const { members } = gateways;
  const ofEngine = random.once(3) ? [random.pick(engineFaults(engine, gateways))] : [];
  const first = random.below(members.length);
  const hit = [...new Set([first, random.below(members.length)])].map((index) => members[index]!);
  const links: Fault[] = [];
  const processes: Fault[] = [];
  for (const member of hit.slice(0, ofEngine.length > 0 ? random.below(3) : undefined)) {
    const kind = random.below(5);
    if (kind < 3) links.push(random.pick(linkFaults(member.name, member.link!, random)));
    if (kind > 1) processes.push(random.pick(processFaults(member)));
  }
  return [...ofEngine, ...links, ...processes];
}
