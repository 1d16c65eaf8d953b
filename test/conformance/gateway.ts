import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigInput } from 'toolcrib/gateway';
import { fixtureArguments, startFixture, startProgram, type Kind, type Served } from './programs.ts';

const main = join(import.meta.dirname, '../../dist/cli/main.js');

/** The revision that a gateway speaks to a server: what it finds out, or an older one. */
type Spoken = 'auto' | '2025-11-25';

/** Starts a server of some kind behind a gateway of its own, which has all but pins on that is on by default. */
export async function startBehindGateway(
  kind: Kind,
  way: 'http' | 'stdio',
  protocol: Spoken = 'auto',
): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-behind-'));
  const upstream = way === 'http' ? await startFixture(kind) : undefined;
  const entry = upstream
    ? { url: upstream.url }
    : { command: process.execPath, args: [...fixtureArguments(kind, way)] };
  // The suite adds a tool and expects a notification; pins would hold that tool until it is approved.
  const suite = { ...entry, protocol, pin: 'off' as const };
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
 * The scenario that finds nothing to look at behind a gateway which speaks 2026-07-28 or lines to the server: only on
 * older revisions over HTTP a server can close a stream for its client to come back. There it is looked at by itself.
 */
export const POLLING = 'server-sse-polling';
