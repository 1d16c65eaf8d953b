import { spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { Load, LoadGenerator, LoadResult } from './load.ts';
import { startProcess } from './process.ts';
import type { BenchRequest } from './requests.ts';
import { scratchFile } from './scratch.ts';

/** wrk, if it is installed. */
export function findWrk(): LoadGenerator | undefined {
  const { stdout, error } = spawnSync('wrk', ['--version'], { encoding: 'utf8' });
  if (error !== undefined) return undefined;
  const [, version] = /^wrk (\S+)/.exec(stdout) ?? [];
  return { name: `wrk ${version ?? ''}, one thread`, run: runWrk };
}

async function runWrk({ url, request, connections, seconds }: Load): Promise<LoadResult> {
  const script = scratchFile('request.lua', luaScript(request));
  // A slow target must show as slow, not as a timeout.
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '-s', script, url];
  const wrk = startProcess('wrk', args, ['ignore', 'pipe', 'inherit']);
  if (wrk.stdout === null) throw new Error('wrk is started with its output piped.');
  const output = await text(wrk.stdout);
  const [, summary] = /^SUMMARY (.*)$/m.exec(output) ?? [];
  if (summary === undefined) throw new Error(`wrk gave no summary: ${output}`);
  const { requests, micros, p50, p99, errors } = JSON.parse(summary) as Summary;
  return { requests, perSecond: requests / (micros / 1e6), p50Ms: p50 / 1e3, p99Ms: p99 / 1e3, errors };
}

interface Summary {
  readonly requests: number;
  readonly micros: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
}

function luaScript({ headers, body, keys }: BenchRequest): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `wrk.headers[ ${luaString(name)} ] = ${luaString(value)}`,
  );
  return `wrk.method = 'POST'
wrk.body = ${luaString(body)}
${lines.join('\n')}
${keys === undefined ? '' : luaTurns(keys)}
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'SUMMARY {"requests":%d,"micros":%d,"p50":%d,"p99":%d,"errors":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
`;
}

// One key or ten thousand, the script does the same: the requests are made once and sent in turn.
function luaTurns(keys: readonly string[]): string {
  return `local requests = {}
local turn = 0
init = function(args)
  for key in string.gmatch(${luaString(keys.join(','))}, '[^,]+') do
    wrk.headers['authorization'] = 'Bearer ' .. key
    requests[#requests + 1] = wrk.format()
  end
end
request = function()
  turn = turn % #requests + 1
  return requests[turn]
end`;
}

function luaString(value: string): string {
  return `[==[${value}]==]`;
}
