import { appendFileSync } from 'node:fs';
import { connect } from 'toolcrib';
import { signInFor, type ScenarioContext } from './fixture-sign-in.ts';

// The suite does not look at how the client ended.
process.on('exit', (code) => {
  const file = process.env['TOOLCRIB_EXITS'];
  if (file !== undefined) appendFileSync(file, `${code}\n`);
});

const server = process.argv.at(-1)!;
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as ScenarioContext;
const authorizer = await signInFor(scenario, server, context);

try {
  const client = await connect(server, {
    authorizer,
    // The scenarios serve one revision and do not say which.
    protocol: process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] ?? '2025-11-25',
  });
  await client.listTools();
  await client.callTool('test-tool', {});
  await client.close();
} catch (error) {
  // A stack would hold the one long line of the bundle.
  console.error(String(error));
  process.exitCode = 1;
} finally {
  await authorizer.close();
}
