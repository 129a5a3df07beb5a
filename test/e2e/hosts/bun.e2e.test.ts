import { describeHost } from "../../conformance/suite.ts";
import { bun, runtimeHost } from "./runtime-host.ts";

describeHost(runtimeHost(bun));
