import { z } from 'zod';

/** What the `trace` stage may be told: nothing, since the OpenTelemetry SDK says where spans go. Apart from the stage, so that checking a configuration does not load OpenTelemetry. */
export const traceOptions = z.strictObject({});
