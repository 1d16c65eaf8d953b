import { createServer, defineTool, ToolRegistry, type Caller } from 'toolcrib';
import { createTestClient } from 'toolcrib/testing';

// One server for many organisations: a tool sees the tenant of its caller, and nothing of the others.
const invoices = [
  { tenant: 'north', number: 1, amount: 120 },
  { tenant: 'south', number: 2, amount: 80 },
];
const listInvoices = defineTool(
  {
    name: 'list_invoices',
    description:
      'Lists the invoices of your organisation. Returns numbers and amounts. Use it before you pay.',
    annotations: { readOnlyHint: true },
  },
  (_args, { tenant, context_data: { name } }) => ({
    organisation: name,
    invoices: invoices.filter((invoice) => invoice.tenant === tenant.id),
  }),
);
const server = createServer({ source: new ToolRegistry().registerTool(listInvoices) });

function callerOf(id: string, name: string): Caller {
  return { id: `ada@${id}`, tenant: { id, name, data: {} }, scopes: [], roles: [] };
}

for (const caller of [callerOf('north', 'North Ltd'), callerOf('south', 'South Ltd')]) {
  const { structuredContent } = await createTestClient(server, { caller }).callTool('list_invoices');
  console.log(JSON.stringify(structuredContent));
}
