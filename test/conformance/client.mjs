// The client under test: what it does follows from the scenario.
import { appendFileSync } from 'node:fs';
import { connect, listSkills, loadSkill } from 'toolcrib';

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

// The suite does not look at how the client ended.
process.on('exit', (code) => {
  if (process.env.TOOLCRIB_EXITS) appendFileSync(process.env.TOOLCRIB_EXITS, `${code}\n`);
});

const handlers = {
  form: () => ({ action: 'accept', content: {} }),
  url: () => ({ action: 'accept' }),
  sample: () => ({ role: 'assistant', model: 'made-up', content: { type: 'text', text: 'Paris' } }),
  roots: () => [{ uri: 'file:///work', name: 'work' }],
};

const client = await connect(url, {
  info: { name: 'toolcrib-conformance', version: '1.0.0' },
  // Several of the scenarios do not answer discovery.
  protocol: process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? 'auto',
  handlers,
  // Some scenarios look at what is sent, not at whether it fits.
  checkArguments: false,
});
try {
  await act();
} finally {
  await client.close();
}

async function act() {
  if (scenario.startsWith('sep-2640-')) return useSkills();
  const tools = await client.listTools();
  const names = tools.map(({ name }) => name);
  switch (scenario) {
    case 'initialize':
    case 'request-metadata':
      return;
    case 'tools_call':
      return callTool('add_numbers', { a: 5, b: 3 });
    case 'http-standard-headers':
      await callTool('test_headers', {});
      for (const { uri } of await client.listResources()) await client.readResource(uri);
      for (const { name } of await client.listPrompts()) await client.getPrompt(name);
      return;
    case 'http-custom-headers':
      for (const { name, arguments: args } of context.toolCalls ?? []) await callTool(name, args);
      return;
    case 'json-schema-2020-12-preservation':
      return callTool('json_schema_echo', {
        schema: tools.find(({ name }) => name !== 'json_schema_echo')?.inputSchema,
      });
    default:
      for (const name of names) await callTool(name, {});
  }
}

// What a server refuses is part of some scenarios, and no failure of the client.
async function callTool(name, args) {
  try {
    console.log(name, JSON.stringify((await client.callTool(name, args)).raw));
  } catch (error) {
    console.error(name, String(error));
  }
}

async function useSkills() {
  const skills = await listSkills(client);
  if (scenario === 'sep-2640-client-no-prefetch') return;
  for (const skill of skills) {
    try {
      const loaded = await loadSkill(client, skill);
      for (const { uri } of skill.resources) await loaded.readFile(uri);
    } catch (error) {
      console.error(skill.uri, String(error));
    }
  }
}
