import { z } from 'zod';

/** The weather service and its API key. */
export const getWeatherOptions = z.strictObject({
  apiKey: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'Give the key alone, without spaces or line breaks.')
    .describe('Key of the weather service.'),
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .default('https://api.openweathermap.org/data/2.5')
    .describe('Where the service is: OpenWeatherMap, or another that answers in the same way.'),
});
