import { callRequest, echoText, modernMeta, post } from '../requests.ts';

// The requests of one `toolcrib call`, by hand, and nothing else.
const [, , url = ''] = process.argv;
const call = callRequest('echo', '2026-07-28');
for (const method of ['server/discover', 'tools/list']) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: modernMeta } });
  await post(url, { headers: { ...call.headers, 'mcp-method': method }, body });
}
const { body } = await post(url, call);
if (!body.includes(echoText)) throw new Error('The server gave another answer than it should.');
