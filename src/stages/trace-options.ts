import { z } from 'zod';

/**
 * The options of the `trace` stage: none, since the OpenTelemetry SDK decides where spans go. In a file of its own, so
 * that checking a configuration does not load OpenTelemetry.
 */
export const traceOptions = z.strictObject({});
