import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigInput } from 'toolcrib/gateway';
import { fixtureArguments, startFixture, startProgram, type Kind, type Served } from './programs.ts';

const main = join(import.meta.dirname, '../../dist/cli/main.js');

/** Starts a server of some kind behind a gateway of its own, which has all but pins on that is on by default. */
export async function startBehindGateway(kind: Kind, way: 'http' | 'stdio'): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-behind-'));
  const upstream = way === 'http' ? await startFixture(kind) : undefined;
  const entry = upstream
    ? { url: upstream.url }
    : { command: process.execPath, args: [...fixtureArguments(kind, way)] };
  // The suite adds a tool and expects to hear of it; pins would hold that tool until somebody approves it.
  const suite = { ...entry, pin: 'off' as const };
  const config: ConfigInput = { server: { listen: '127.0.0.1:0' }, mcpServers: { suite } };
  const close = async (): Promise<void> => {
    await upstream?.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    // JSON is YAML.
    await writeFile(join(folder, 'toolcrib.yaml'), JSON.stringify(config));
    const gateway = await startProgram([main, 'serve'], folder);
    const stop = async (): Promise<void> => {
      await gateway.stop();
      await close();
    };
    return { url: gateway.url, stop };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * The scenarios that find nothing to look at behind a gateway. Only an older server over HTTP has a stream that it can
 * close for its client to come back; the answers of others come in one piece.
 */
export function unseen(kind: Kind, way: 'http' | 'stdio'): ReadonlySet<string> {
  return new Set(kind === 'sdk v1' && way === 'http' ? [] : ['server-sse-polling']);
}
