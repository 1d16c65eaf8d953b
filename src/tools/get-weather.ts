import { z } from 'zod';
import { AbstractTool } from '../core/authoring/abstract-tool.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import type { ToolContext } from '../core/context.ts';
import { isObject } from '../base/json.ts';
import { parseJson } from '../base/parse-json.ts';
import { upstreamFailure } from '../core/authoring/upstream-failure.ts';
import { readOutputSchema, type JsonSchema } from '../schema/schema.ts';
import { toolError } from '../core/authoring/tool-error.ts';
import type { Fetch } from '../net/outbound.ts';
import { getWeatherOptions } from './get-weather-options.ts';
import { originFetch } from './origin-fetch.ts';
import { withoutEnd } from './without-end.ts';

/** What the tool is made with; the default `fetch` reaches only the service's own origin. */
export type WeatherSettings = z.input<typeof getWeatherOptions> & {
  readonly fetch?: Fetch;
  readonly clock?: Pick<Clock, 'now'>;
};

/** Tells the weather at a place, from OpenWeatherMap or a compatible service. */
export class WeatherTool extends AbstractTool<WeatherArguments> {
  readonly outputSchema: JsonSchema = readOutputSchema(output).json;
  readonly #apiKey: string;
  readonly #baseUrl: string;
  readonly #fetch: Fetch;
  readonly #clock: Pick<Clock, 'now'>;

  constructor({ fetch, clock = systemClock, ...options }: WeatherSettings) {
    super(
      'get_weather',
      'Tells the current weather at a place. Returns temperature, what it feels like, humidity and a description. Use it for the weather now, not for a forecast.',
      input,
      { readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    );
    const { apiKey, baseUrl } = getWeatherOptions.parse(options, { jitless: true });
    this.#apiKey = apiKey;
    this.#baseUrl = withoutEnd(baseUrl, '/');
    this.#fetch = fetch ?? originFetch(baseUrl, 'api.openweathermap.org');
    this.#clock = clock;
  }

  async execute({ location, units }: WeatherArguments, { signal }: ToolContext): Promise<unknown> {
    const query = new URLSearchParams({ q: location, appid: this.#apiKey, units: SENT[units] });
    let answer: Answer;
    try {
      answer = await readAnswer(
        await this.#fetch(`${this.#baseUrl}/weather?${query.toString()}`, { signal }),
      );
    } catch {
      // The reason may contain the URL, which contains the key.
      signal.throwIfAborted();
      return failure('The weather service could not be reached. Try again later.');
    }
    if ('problem' in answer) return failure(answer.problem);
    if (!answer.weather) return toolError('Weather data not found', { location });
    const { name, sys, main, weather } = answer.weather;
    return {
      location: name,
      country: sys.country,
      temperature: main.temp,
      feels_like: main.feels_like,
      humidity: main.humidity,
      description: weather[0]?.description ?? '',
      units,
      timestamp: new Date(this.#clock.now()).toISOString(),
    };
  }
}

/** The `get_weather` tool. */
export function getWeatherTool(settings: WeatherSettings): WeatherTool {
  return new WeatherTool(settings);
}

type WeatherArguments = {
  readonly location: string;
  readonly units: 'metric' | 'imperial' | 'kelvin';
};

// The service has another name for kelvin.
const SENT = { metric: 'metric', imperial: 'imperial', kelvin: 'standard' } as const;

const input = z.strictObject({
  location: z
    .string()
    .min(1, 'Location must not be empty')
    .max(200, 'Location must be at most 200 characters')
    .describe('Name of a city, such as "Berlin,DE".'),
  units: z
    .enum(['metric', 'imperial', 'kelvin'])
    .default('metric')
    .describe('Celsius (metric), Fahrenheit (imperial) or kelvin.'),
});

const output = z.object({
  location: z.string().describe('Name of the place that was found.'),
  country: z.string().describe('Its country, as a code of two letters.'),
  temperature: z.number(),
  feels_like: z.number(),
  humidity: z.number().describe('In percent.'),
  description: z.string().describe('The weather in words.'),
  units: z.enum(['metric', 'imperial', 'kelvin']),
  timestamp: z.string().describe('When this was asked for.'),
});

const told = z.object({
  name: z.string(),
  sys: z.object({ country: z.string().default('') }).prefault({}),
  main: z.object({ temp: z.number(), feels_like: z.number(), humidity: z.number() }),
  weather: z.array(z.object({ description: z.string() })).default([]),
});

type Answer = { readonly weather: z.output<typeof told> | undefined } | { readonly problem: string };

async function readAnswer(response: Response): Promise<Answer> {
  const passing = upstreamFailure(response);
  if (passing) return { problem: `${passing.error}. ${passing.message}` };
  if (response.status === 401 || response.status === 403)
    return {
      problem:
        'The weather service does not accept the key of this server. Only its operator can change that.',
    };
  if (!response.ok) return { weather: undefined };
  const answer = readValue(await response.text());
  const { data } = told.safeParse(answer, { jitless: true });
  if (data) return { weather: data };
  // Some services put the status into the body.
  const { cod = 200 } = isObject(answer) ? answer : {};
  return cod === 200 || cod === '200'
    ? { problem: 'The weather service answered something that cannot be read. Try again later.' }
    : { weather: undefined };
}

function readValue(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function failure(message: string) {
  return toolError('Failed to fetch weather data', { message });
}
