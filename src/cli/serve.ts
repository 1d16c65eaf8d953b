import { ToolcribError } from '../core/errors.ts';
import { ToolRegistry } from '../core/registry.ts';
import { createServer, type Server } from '../server/create-server.ts';
import { listen, LOOPBACK } from '../server/node-http.ts';
import { serveStdio } from '../server/stdio.ts';
import { pingTool } from '../tools/ping.ts';
import { serverInfoTool } from '../tools/server-info.ts';
import { packageVersion } from './package-version.ts';

/** What `toolcrib serve` may be told. */
export interface ServeFlags {
  readonly listen: string;
  readonly stdio?: boolean;
}

/** `toolcrib serve`: the ready-made tools over HTTP, or over standard input and output. */
export async function serve(flags: ServeFlags): Promise<void> {
  const identity = { name: 'toolcrib', version: packageVersion() };
  const registry = new ToolRegistry();
  registry.registerTool(pingTool(), serverInfoTool({ ...identity, source: registry }));
  const server = createServer({ ...identity, source: registry });
  if (flags.stdio) await serveStdio(server);
  else await serveHttp(server, registry, parseAddress(flags.listen));
}

async function serveHttp(
  server: Server,
  registry: ToolRegistry,
  address: { host: string; port: number },
): Promise<void> {
  if (!LOOPBACK.has(address.host)) {
    throw new ToolcribError(
      'invalid_setup',
      'toolcrib serve is for this machine only; to open tools to others, write a server with authenticate (docs/serving.md).',
    );
  }
  const listening = await listen(server, address);
  await new Promise<void>((resolve) => {
    const stop = (): void => {
      // A second signal means now.
      process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
      process.stdout.write('\nStopping.\n');
      void listening.close().then(resolve);
    };
    process.once('SIGINT', stop).once('SIGTERM', stop);
    // Last, because whoever has read it may already want to stop the server.
    process.stdout.write(greeting(listening.url, registry.getToolNames()));
  });
}

function greeting(url: string, tools: readonly string[]): string {
  const entry = JSON.stringify({ mcpServers: { toolcrib: { type: 'http', url } } });
  return [
    `Toolcrib serves ${tools.join(', ')} at ${url}`,
    '',
    `  for your client   ${entry}`,
    `  to look around    npx @modelcontextprotocol/inspector --cli ${url} --method tools/list`,
    '',
    'Only this machine can reach it. Ctrl-C stops it.',
    '',
  ].join('\n');
}

function parseAddress(text: string): { host: string; port: number } {
  const match = /^(?:(\[[0-9a-fA-F:]+\]|[^:]+):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (!match || port > 65_535) {
    throw new ToolcribError(
      'invalid_setup',
      `--listen takes HOST:PORT or PORT, such as 127.0.0.1:8484, not "${text}".`,
    );
  }
  return { host: (match[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port };
}
