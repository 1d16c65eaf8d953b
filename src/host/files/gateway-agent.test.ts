import { expect, test } from 'vitest';
import { agentsSection } from '../../gateway/settings/agents.ts';
import { upstreamsSection } from '../../config/servers.ts';
import { gatewayAgentConfig } from './gateway-agent.ts';

const servers = upstreamsSection.parse({
  github: {
    url: 'https://github.example/mcp',
    tools: ['get_*', 'search_code', 'merge'],
    deny: ['get_secret'],
  },
  files: { command: 'files', trust: 'trusted' },
});

function configOf(entry: object): ReturnType<typeof gatewayAgentConfig> {
  const { one } = agentsSection.parse({ one: entry });
  return gatewayAgentConfig('one', one!, servers);
}

test.each([
  [['github.get_issue'], ['get_issue'], []],
  [['github.*'], ['get_*', 'search_code', 'merge'], []],
  ['*', ['get_*', 'search_code', 'merge'], ['*']],
  [['git*_code'], ['search_code'], []],
  [['github.delete'], [], []],
  [['files.re*', 'ping'], [], ['re*']],
])('the list %j gives an agent %j of one server and %j of another', (tools, ofGithub, ofFiles) => {
  const { servers: used } = configOf({ mcpServers: ['github', 'files'], tools });
  expect(used['github']!.tools).toEqual({ allow: ofGithub, deny: ['get_secret'] });
  expect(used['files']).toMatchObject({ tools: { allow: ofFiles, deny: [] }, trust: 'trusted' });
});

test('tools of a server do not count as own tools, and a missing list means none', () => {
  const { ownTools } = configOf({
    mcpServers: ['github'],
    tools: { allow: ['github.get_*', 'ping', 'files.x'], deny: ['github.*', 'pi*'] },
  });
  expect(ownTools).toEqual({ allow: ['ping', 'files.x'], deny: ['pi*'] });
  expect(configOf({ mcpServers: ['github'] })).toMatchObject({
    servers: { github: { tools: { allow: [] } } },
  });
  expect(configOf({ mcpServers: ['github'] }).ownTools).toBeUndefined();
});
