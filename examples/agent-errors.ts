import { InvalidArguments, PermissionDenied, ToolExecutionFailed, ToolNotFound, ToolTimeout } from 'toolcrib';
import { createAgent, loadAgentConfig, runAgent, scripted } from 'toolcrib/host';

const config = await loadAgentConfig('examples/database.agent.yaml');
const database = config.servers['database']!;
const granted = { ...database, tools: { allow: ['*'], deny: [] } };
const agent = await createAgent({ ...config, servers: { database: granted } }, { mode: 'restricted' });

async function explain(tool: string, args: Readonly<Record<string, unknown>>): Promise<string> {
  try {
    return JSON.stringify((await agent.executeToolCall(tool, args)).structuredContent);
  } catch (error) {
    if (error instanceof ToolNotFound) return `There is no such tool: ${tool}`;
    if (error instanceof InvalidArguments) return `Not sent: ${error.message}`;
    if (error instanceof ToolTimeout) return `Too slow: ${tool}`;
    if (error instanceof PermissionDenied) return `Not allowed: ${tool}`;
    if (error instanceof ToolExecutionFailed) return `It failed: ${error.message}`;
    throw error;
  }
}

console.log(await explain('query_databases', {}));
console.log(await explain('query_database', { table: 7 }));
console.log(await explain('query_database', { table: 'customers' }));
console.log(await explain('count_slowly', {}));
console.log(await explain('drop_table', { table: 'users' }));

// A model reads the same as a result, and can do better.
const model = scripted([
  { toolCalls: [{ name: 'query_database', arguments: { table: 'customers' } }] },
  { toolCalls: [{ name: 'query_database', arguments: { table: 'users' } }] },
  'Alice and Bob.',
]);
console.log((await runAgent(agent, { model, prompt: 'Who are our customers?' })).text);

await agent.close();
