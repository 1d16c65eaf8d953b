import { createAgent, loadAgentConfig, runAgent, scripted } from 'toolcrib/host';

const agent = await createAgent(await loadAgentConfig('examples/database.agent.yaml'));

// A program calls a tool itself: the server is found, and the arguments are checked before anything is sent.
const { structuredContent } = await agent.executeToolCall('query_database', { table: 'users', active: true });
console.log(JSON.stringify(structuredContent));

// A model does. This one follows a script; createModel(config.model) makes the real one.
const model = scripted([
  { toolCalls: [{ name: 'list_tables', arguments: {} }] },
  { toolCalls: [{ name: 'query_database', arguments: { table: 'users' } }] },
  'There are two users, Alice and Bob.',
]);
const { text, usage } = await runAgent(agent, {
  model,
  prompt: 'Who are our users?',
  onEvent: (event) => {
    if (event.type === 'tool:start') console.log(`${event.server}: ${event.tool}`);
  },
});
console.log(text);
console.log(`${usage.turns} turns, ${usage.calls} calls`);

await agent.close();
