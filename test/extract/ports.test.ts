import { describe, expect, test } from "vitest";
import { portSetKeys, portSetText, readEndpointPorts, readServicePorts } from "../../src/extract/ports.ts";

/** What a reader returns, and its findings. */
function read<Port>(
  reader: (report: (reason: string, message: string) => void, value: unknown) => Port[],
  value: unknown,
) {
  const findings: string[] = [];
  const ports = reader((reason, message) => findings.push(`${reason}: ${message.split(";")[0]}`), value);
  return { ports, findings };
}

const TCP_80 = { name: "", protocol: "TCP", port: 80 };

describe("ports of a Service (v1)", () => {
  test.each<[string, unknown, unknown[], string[]]>([
    ["no list", undefined, [], []],
    ["a mapping in place of the list", { port: 80 }, [], []],
    ["a port without a name and a protocol", [{ port: 80 }], [TCP_80], []],
    ["an empty protocol, which means TCP", [{ port: 80, protocol: "" }], [TCP_80], []],
    [
      "an application protocol",
      [{ port: 80, appProtocol: "http" }],
      [{ ...TCP_80, appProtocol: "http" }],
      [],
    ],
    [
      "an application protocol of 318 characters",
      [{ port: 80, appProtocol: "a".repeat(318) }],
      [TCP_80],
      [
        `InvalidField: spec.ports[0].appProtocol holds "${"a".repeat(76)}..., which is not a text of up to 317 characters`,
      ],
    ],
    ["null in the list", [null, { port: 80 }], [TCP_80], ["InvalidPort: spec.ports[0] holds null"]],
    ["a text in the list", ["http", { port: 80 }], [TCP_80], ['InvalidPort: spec.ports[0] holds "http"']],
    ["no number", [{ name: "a" }], [], ['InvalidPort: spec.ports[0] holds {"name":"a"}']],
    ["a number in text", [{ port: "80" }], [], ['InvalidPort: spec.ports[0] holds {"port":"80"}']],
    ["a fraction", [{ port: 80.5 }], [], ['InvalidPort: spec.ports[0] holds {"port":80.5}']],
    ["more than 31 bits", [{ port: 2 ** 31 }], [], ['InvalidPort: spec.ports[0] holds {"port":2147483648}']],
    [
      "a name that is a number",
      [{ port: 80, name: 7 }],
      [],
      ['InvalidPort: spec.ports[0] holds {"port":80,"name":7}'],
    ],
    [
      "a protocol of 17 characters",
      [{ port: 80, protocol: "p".repeat(17) }],
      [],
      ['InvalidPort: spec.ports[0] holds {"port":80,"protocol":"ppppppppppppppppp"}'],
    ],
  ])("%s", (_, value, ports, findings) => {
    expect(read(readServicePorts, value)).toEqual({ ports, findings });
  });

  test("keep their order, and the first 1,000", () => {
    const all = Array.from({ length: 1001 }, (_, index) => ({
      name: "",
      protocol: "TCP",
      port: 2000 - index,
    }));
    const { ports, findings } = read(readServicePorts, all);
    expect(ports).toEqual(all.slice(0, 1000));
    expect(findings).toEqual(["TooMany: spec.ports has 1001 elements"]);
  });
});

describe("ports of an EndpointSlice (discovery.k8s.io/v1)", () => {
  test.each<[string, unknown, unknown[], string[]]>([
    ["null, which means all ports", [{ port: null }], [], []],
    ["no number, which means all ports", [{ name: "a" }], [], []],
    ["null in the list", [null, { port: 80 }], [TCP_80], ["InvalidPort: ports[0] holds null"]],
    ["a number in the list", [80], [], ["InvalidPort: ports[0] holds 80"]],
    ["one port twice", [{ port: 80 }, { port: 80, protocol: "TCP", name: "" }], [TCP_80], []],
    [
      "ports in another order",
      [
        { port: 80, name: "b" },
        { port: 80, name: "a" },
      ],
      [
        { ...TCP_80, name: "a" },
        { ...TCP_80, name: "b" },
      ],
      [],
    ],
  ])("%s", (_, value, ports, findings) => {
    expect(read(readEndpointPorts, value)).toEqual({ ports, findings });
  });
});

describe("the key of a group of endpoints", () => {
  test.each([
    ["*", []],
    ["(unnamed)/TCP/80", [TCP_80]],
    [
      "http/TCP/80,dns/UDP/53",
      [
        { name: "http", protocol: "TCP", port: 80 },
        { name: "dns", protocol: "UDP", port: 53 },
      ],
    ],
    ["(unnamed)/(a%2fb)/80", [{ name: "", protocol: "a/b", port: 80 }]],
    ["(a%2c%20b)/TCP/80", [{ ...TCP_80, name: "a, b" }]],
    ["(-a.b_c)/TCP/80", [{ ...TCP_80, name: "-a.b_c" }]],
    ["a-1.b_c/TCP/80", [{ ...TCP_80, name: "a-1.b_c" }]],
    ["(a%20)/TCP/80", [{ ...TCP_80, name: "a " }]],
  ])("is %s", (text, ports) => {
    expect(portSetText(ports)).toBe(text);
  });

  test("is its text up to 4,000 characters; longer ones are numbered by their order", () => {
    const [short, a, b] = ["s".repeat(4000), "x".repeat(4001), `${"x".repeat(4000)}y`];
    const keys = portSetKeys([b!, a!, short!]);
    expect([short, a, b].map((text) => keys.get(text!))).toEqual([
      short,
      `${"x".repeat(4000)},(1)`,
      `${"x".repeat(4000)},(2)`,
    ]);
  });
});
