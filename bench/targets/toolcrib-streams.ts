import { createServer, defineTool, ToolRegistry, type Caller } from 'toolcrib';
import { listen } from 'toolcrib/node';
import { announce } from './target.ts';

const tenant = { id: 'bench', name: 'Bench', data: {} };
const callers = new Map<string, Caller>();

// One caller may hold a hundred streams, so ten thousand take a hundred callers.
function callerNamed(id: string): Caller {
  let caller = callers.get(id);
  if (!caller) callers.set(id, (caller = { id, tenant, scopes: [], roles: [] }));
  return caller;
}

const registry = new ToolRegistry();
let count = 0;
registry.registerTool(
  defineTool({ name: 'change_tools', description: 'Adds a tool.' }, () => {
    registry.register(`extra_${++count}`, () => 'extra');
    return 'added';
  }),
);

const server = createServer({
  source: registry,
  authenticate: ({ headers }) => callerNamed(String(headers['x-caller'])),
});
// Ten thousand streams, and the call that changes something.
const http = await listen(server, { port: 0, maxConnections: 11_000 });
announce(Number(new URL(http.url).port));
