import { describeHost } from "../../conformance/suite.ts";
import { deno, runtimeHost } from "./runtime-host.ts";

describeHost(runtimeHost(deno));
