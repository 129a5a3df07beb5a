import { nodeHost, nodeHostInClear } from "./hosts/node.ts";
import { describeHost } from "./suite.ts";

describeHost(nodeHost);
describeHost(nodeHostInClear);
