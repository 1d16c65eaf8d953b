import { createAgent, loadAgentConfig } from 'toolcrib/host';

// The file says which servers there are, and what of them the model may see.
const config = await loadAgentConfig('examples/database.agent.yaml');
const agent = await createAgent(config);

for (const { name, state } of agent.servers) console.log(`${name}: ${state.kind}`);
console.log(agent.availableTools.map(({ name }) => name).join(', '));
for (const { name, shownAs } of agent.explainTools())
  if (shownAs === undefined) console.log(`hidden: ${name}`);

await agent.close();
