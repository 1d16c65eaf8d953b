import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ToolRegistry } from '../core/registry.ts';
import { toResult } from '../core/result.ts';
import { validatorOf } from '../schema/validator.ts';
import { createFakeClock } from '../testing.ts';
import { getWeatherTool, WeatherTool, type WeatherSettings } from './get-weather.ts';

const apiKey = 'weather_canary_4711';
const clock = createFakeClock(Date.UTC(2026, 0, 15, 12));

const berlin = {
  name: 'Berlin',
  sys: { country: 'DE' },
  main: { temp: 3.5, feels_like: -0.2, humidity: 81, pressure: 1013 },
  weather: [{ id: 803, main: 'Clouds', description: 'broken clouds' }],
  cod: 200,
};

interface Service {
  readonly registry: ToolRegistry;
  readonly asked: readonly URL[];
}

async function open(answer: (response: ServerResponse) => void): Promise<Service> {
  const asked: URL[] = [];
  const server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://service.example'));
    answer(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/data/2.5`;
  return { registry: registryOf({ apiKey, baseUrl, clock }), asked };
}

function registryOf(settings: WeatherSettings): ToolRegistry {
  return new ToolRegistry().registerTool(getWeatherTool(settings));
}

function answering(status: number, body: unknown, headers: Record<string, string> = {}) {
  return (response: ServerResponse): void => {
    response.writeHead(status, headers);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

test('the weather at a place has every field (001-24)', async () => {
  const { registry, asked } = await open(answering(200, berlin));
  const answer = await registry.execute('get_weather', { location: 'Berlin' });
  expect(answer).toEqual({
    location: 'Berlin',
    country: 'DE',
    temperature: 3.5,
    feels_like: -0.2,
    humidity: 81,
    description: 'broken clouds',
    units: 'metric',
    timestamp: '2026-01-15T12:00:00.000Z',
  });
  expect(validatorOf(registry.find('get_weather')!.outputSchema!)(answer)).toHaveProperty('value');
  expect(asked.map(({ pathname }) => pathname)).toEqual(['/data/2.5/weather']);
  expect(Object.fromEntries(asked[0]!.searchParams)).toEqual({ q: 'Berlin', appid: apiKey, units: 'metric' });
});

test.each([
  ['metric', 'metric'],
  ['imperial', 'imperial'],
  ['kelvin', 'standard'],
])('units %s are requested as %s (001-24)', async (units, sent) => {
  const { registry, asked } = await open(answering(200, berlin));
  expect(await registry.execute('get_weather', { location: 'Berlin', units })).toMatchObject({ units });
  expect(asked[0]!.searchParams.get('units')).toBe(sent);
});

test.each([
  {},
  { location: '' },
  { location: 5 },
  { location: 'Berlin', units: 'celsius' },
  { location: 'Berlin', city: 'Bonn' },
])('%j is refused before a request is sent (001-24)', async (args) => {
  const { registry, asked } = await open(answering(200, berlin));
  await expect(registry.execute('get_weather', args)).rejects.toMatchObject({ code: 'invalid_arguments' });
  expect(asked).toEqual([]);
});

test.each([
  ['a 404', 404, { cod: '404', message: 'city not found' }],
  ['a 400', 400, { cod: '400', message: 'Nothing to geocode' }],
  ['a refusal inside a 200', 200, { cod: '404', message: 'city not found' }],
])('%s means that the place does not exist (001-24)', async (_what, status, body) => {
  const { registry } = await open(answering(status, body));
  const answer = await registry.execute('get_weather', { location: 'Nowhere' });
  expect(answer).toEqual({ error: 'Weather data not found', location: 'Nowhere' });
  expect(toResult(answer)).toMatchObject({ kind: 'failed' });
});

test.each([
  ['a refused key', answering(401, { message: `Invalid key ${apiKey}` }), /does not accept the key/],
  [
    'too much',
    answering(429, '', { 'retry-after': '60' }),
    /^API rate limit exceeded\. Try again after 60 seconds\.$/,
  ],
  ['an outage', answering(502, 'bad gateway'), /^API is not available now\. Try again later\.$/],
  ['no JSON', answering(200, `<html>${apiKey}`), /cannot be read/],
  ['JSON of another kind', answering(200, { main: {} }), /cannot be read/],
  ['a list', answering(200, []), /cannot be read/],
  ['a redirect', answering(302, '', { location: 'http://127.0.0.1:9/' }), /could not be reached/],
  ['a lost connection', (response: ServerResponse) => void response.destroy(), /could not be reached/],
])('%s is reported as a failure, without the key (001-24, 004-15)', async (_what, answer, words) => {
  const { registry } = await open(answer);
  const told = await registry.execute('get_weather', { location: 'Berlin' });
  expect(told).toEqual({
    error: 'Failed to fetch weather data',
    message: expect.stringMatching(words) as string,
  });
  expect(toResult(told)).toMatchObject({ kind: 'failed' });
  expect(JSON.stringify(told)).not.toMatch(/canary|127\.0\.0\.1/);
});

test('an error whose text contains the URL does not reach the model (001-24)', async () => {
  const fetch = (url: string): Promise<Response> => Promise.reject(new TypeError(`cannot fetch ${url}`));
  await expect(fetch(`https://service.example/?appid=${apiKey}`)).rejects.toThrow(apiKey);
  const told = await registryOf({ apiKey, fetch }).execute('get_weather', { location: 'Berlin' });
  expect(told).toMatchObject({ error: 'Failed to fetch weather data' });
  expect(JSON.stringify(told)).not.toContain(apiKey);
});

test.each(['Berlin&appid=mine', 'a#b', '../../evil', 'x?units=kelvin', 'São Paulo'])(
  'the location %j is sent as a location and nothing else',
  async (location) => {
    const { registry, asked } = await open(answering(200, berlin));
    await registry.execute('get_weather', { location });
    expect(asked[0]!.pathname).toBe('/data/2.5/weather');
    expect(Object.fromEntries(asked[0]!.searchParams)).toEqual({
      q: location,
      appid: apiKey,
      units: 'metric',
    });
  },
);

test('a cancelled call aborts its request at once', async () => {
  const events = new EventEmitter();
  const [asked, left] = [once(events, 'asked'), once(events, 'left')];
  const { registry } = await open((response) => {
    response.once('close', () => events.emit('left'));
    events.emit('asked');
  });
  const stop = new AbortController();
  const ended = registry.execute('get_weather', { location: 'Berlin' }, { signal: stop.signal });
  await asked;
  stop.abort(new Error('Stopped by the test.'));
  await expect(ended).rejects.toThrow('Stopped by the test.');
  await left;
});

test('the key is given to the constructor and never shown (001-24)', () => {
  const tool = new WeatherTool({ apiKey });
  const [listed] = new ToolRegistry().registerTool(tool).getToolsList().tools;
  expect(listed).toMatchObject({
    name: 'get_weather',
    inputSchema: {
      properties: { units: { enum: ['metric', 'imperial', 'kelvin'], default: 'metric' } },
      required: ['location'],
    },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  });
  expect(JSON.stringify([listed, tool])).not.toContain(apiKey);
  expect(() => new WeatherTool({ apiKey: 'two words' })).toThrow('Give the key alone');
});
