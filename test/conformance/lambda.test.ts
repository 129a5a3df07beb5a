import { lambdaByFunctionUrl, lambdaByHttpApi } from "./hosts/lambda.ts";
import { describeHost } from "./suite.ts";

describeHost(lambdaByHttpApi);
describeHost(lambdaByFunctionUrl);
