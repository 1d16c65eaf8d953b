import type { RunUsage } from '../../host/loop/run-events.ts';
import { printable } from '../table.ts';

const MAX_ARGUMENTS = 120;

/** A call on one line: the server, the tool and the beginning of its arguments. */
export function callLine({
  server,
  tool,
  arguments: args,
}: {
  readonly server: string | undefined;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>> | string;
}): string {
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  const letters = Array.from(text);
  const shown = letters.length > MAX_ARGUMENTS ? `${letters.slice(0, MAX_ARGUMENTS).join('')}...` : text;
  const from = server === undefined ? '' : `${server}: `;
  return printable(`${from}${tool} ${shown}`);
}

/** The usage of a run, on one line. */
export function usageLine(usage: RunUsage): string {
  const { calls, inputTokens, outputTokens, cachedTokens, money, ms, waitedMs, isEstimated } = usage;
  const about = isEstimated ? 'about ' : '';
  const cached = cachedTokens > 0 ? ` (${grouped(cachedTokens)} cached)` : '';
  return [
    `${about}${grouped(inputTokens)} tokens in${cached}, ${grouped(outputTokens)} out`,
    `${calls} ${calls === 1 ? 'call' : 'calls'}`,
    ...(money === undefined ? [] : [`cost ${money.toFixed(4)}`]),
    `${seconds(ms)}${waitedMs >= 1_000 ? ` and ${seconds(waitedMs)} waiting for you` : ''}`,
  ].join(' · ');
}

/** A duration for people. */
export function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** Adds up the usage of several runs. */
export function sumUsage(a: RunUsage, b: RunUsage): RunUsage {
  return {
    turns: a.turns + b.turns,
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    isEstimated: a.isEstimated || b.isEstimated,
    money: a.money === undefined || b.money === undefined ? undefined : a.money + b.money,
    ms: a.ms + b.ms,
    waitedMs: a.waitedMs + b.waitedMs,
  };
}

function grouped(count: number): string {
  return count.toLocaleString('en-US');
}
