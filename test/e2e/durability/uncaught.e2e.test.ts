import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { eventually } from "../harness/answers.ts";
import { startGateway } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { waitFor } from "../servers/wait.ts";

/**
 * A module for `--import`: SIGUSR2 throws outside of any request, SIGWINCH rejects a promise that nothing
 * handles.
 */
const PLANTED = `
process.on("SIGUSR2", () => { throw new Error("planted outside of any request"); });
process.on("SIGWINCH", () => { Promise.reject(new Error("planted outside of any request")); });
`;

async function open(port: number, ca: string): Promise<TLSSocket> {
  const socket = connectTls({
    host: "127.0.0.1",
    port,
    ca,
    servername: "localhost",
    ALPNProtocols: ["http/1.1"],
  });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket;
}

test.each([
  ["thrown", "SIGUSR2", "uncaughtException"],
  ["rejected and handled by nothing", "SIGWINCH", "unhandledRejection"],
] as const)("an error outside of any request, %s, ends the process in order", async (_, signal, origin) => {
  const module = join(temporaryFolder("planted"), "planted.mjs");
  writeFileSync(module, PLANTED);
  const gateway = await startGateway({ env: { NODE_OPTIONS: `--import=${module}` } });
  const port = Number(new URL(gateway.url).port);
  const query = Buffer.from("000001000001000000000000076578616d706c650000010001", "hex");
  const head = `POST /dns-query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/dns-message\r\nContent-Length: ${query.length}\r\n\r\n`;
  const socket = await open(port, gateway.ca);
  const running = gateway.process;
  socket.write(head);
  socket.write(query.subarray(0, 5));
  // An answer on another connection: the request before it has begun by then.
  expect((await gateway.http("/healthz")).status).toBe(200);

  process.kill(running.pid!, signal);
  await waitFor("the log to name the error", async () => running.log().includes("uncaught-exception"));
  // No new connection is accepted, and requests in flight are answered.
  const isAccepted = () =>
    open(port, gateway.ca).then(
      (another) => another.destroy() !== undefined,
      () => false,
    );
  await eventually(isAccepted).toBe(false);
  socket.write(query.subarray(5));
  const [answer] = await once(socket, "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);

  await running.ended();
  expect(running.exitCode).toBe(1);
  const [line] = running
    .log()
    .split("\n")
    .filter((text) => text.includes("uncaught-exception"));
  expect(JSON.parse(line!)).toMatchObject({
    level: "fatal",
    event: "uncaught-exception",
    origin,
    err: { message: "planted outside of any request" },
  });
});
