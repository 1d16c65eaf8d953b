import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import { modernMeta } from './peer.ts';
import { describeWeb, legacyPost, modernPost, type WebRequest } from './web.ts';

const getTime = defineTool({ name: 'get_time', description: 'Tells the time.' }, () => 'noon');
const listIssues = defineTool(
  {
    name: 'list_issues',
    description: 'Lists issues.',
    input: {
      properties: {
        owner: { type: 'string', 'x-mcp-header': 'Owner' },
        page: { type: 'integer', 'x-mcp-header': 'Page' },
        open: { type: 'boolean', 'x-mcp-header': 'Open' },
      },
    },
  },
  (args) => args,
);
const tools = [getTime, listIssues];
const call = (headers?: WebRequest['headers']): WebRequest =>
  modernPost('tools/call', { name: 'get_time' }, headers);
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

async function codeOf(response: Response): Promise<{ status: number; code: number | undefined }> {
  const { error } = (await response.json()) as { error?: { code: number } };
  return { status: response.status, code: error?.code };
}

describeWeb((open) => {
  test.each<[string, WebRequest['headers']]>([
    ['Mcp-Method is missing', { 'mcp-method': undefined }],
    ['Mcp-Method names another method', { 'mcp-method': 'tools/list' }],
    ['Mcp-Method is in another case', { 'mcp-method': 'Tools/Call' }],
    ['Mcp-Name is missing', { 'mcp-name': undefined }],
    ['Mcp-Name names another tool', { 'mcp-name': 'list_issues' }],
    ['Mcp-Name is in another case', { 'mcp-name': 'GET_TIME' }],
    ['Mcp-Name names another tool in base64', { 'mcp-name': base64('list_issues') }],
    ['Mcp-Name is not canonical base64', { 'mcp-name': '=?base64?Z2V0X3RpbWV=?=' }],
    ['Mcp-Name is base64 without padding', { 'mcp-name': '=?base64?Z2V0X3RpbWU?=' }],
    ['MCP-Protocol-Version is missing', { 'mcp-protocol-version': undefined }],
    ['MCP-Protocol-Version names an older revision', { 'mcp-protocol-version': '2025-06-18' }],
    ['MCP-Protocol-Version names a revision that never was', { 'mcp-protocol-version': '2026-07-29' }],
  ])('a request whose %s is refused as a mismatch', async (_what, headers) => {
    const site = await open({ tools });
    expect(await codeOf(await site.send(call(headers)))).toEqual({ status: 400, code: -32020 });
  });

  test.each<[string, WebRequest['headers']]>([
    ['blanks around their values', { 'mcp-name': ' \tget_time\t ', 'mcp-method': ' tools/call ' }],
    ['names in base64', { 'mcp-name': base64('get_time') }],
    ['a session id and an event id, which mean nothing', { 'mcp-session-id': 'abc', 'last-event-id': '7' }],
  ])('a request may have headers with %s', async (_what, headers) => {
    const site = await open({ tools });
    const response = await site.send(call(headers));
    expect(response.headers.get('mcp-session-id')).toBeNull();
    expect(await codeOf(response)).toEqual({ status: 200, code: undefined });
  });

  test('a version mismatch is reported before an unsupported version', async () => {
    const site = await open({ tools });
    const request = modernPost('tools/list', { _meta: modernMeta('2099-01-01') });
    expect(await codeOf(await site.send(request))).toEqual({ status: 400, code: -32020 });
  });

  test('an unsupported version has status 400', async () => {
    const site = await open({ tools });
    const headers = { 'mcp-protocol-version': '2099-01-01' };
    const request = modernPost('tools/list', { _meta: modernMeta('2099-01-01') }, headers);
    expect(await codeOf(await site.send(request))).toEqual({ status: 400, code: -32022 });
  });

  const args = { owner: 'acme', page: 7, open: true };
  const mirrored = { 'mcp-param-owner': 'acme', 'mcp-param-page': '7', 'mcp-param-open': 'true' };

  test.each<[string, object, WebRequest['headers']]>([
    ['repeat their arguments', args, mirrored],
    ['are absent with their arguments', {}, {}],
    ['are in base64', { owner: 'größe' }, { 'mcp-param-owner': base64('größe') }],
    ['name a number in another spelling', { page: 7 }, { 'mcp-param-page': '7.0' }],
    ['are unknown', {}, { 'mcp-param-colour': 'red' }],
  ])('headers that mirror arguments are accepted when they %s', async (_what, values, headers) => {
    const site = await open({ tools });
    const request = modernPost('tools/call', { name: 'list_issues', arguments: values }, headers);
    expect(await codeOf(await site.send(request))).toEqual({ status: 200, code: undefined });
  });

  test.each<[string, object, WebRequest['headers']]>([
    ['missing', args, { ...mirrored, 'mcp-param-owner': undefined }],
    ['different', args, { ...mirrored, 'mcp-param-owner': 'evil' }],
    ['another number', args, { ...mirrored, 'mcp-param-page': '8' }],
    ['empty for a number', args, { ...mirrored, 'mcp-param-page': '' }],
    ['another truth', args, { ...mirrored, 'mcp-param-open': 'false' }],
    ['there without an argument', {}, { 'mcp-param-owner': 'acme' }],
    ['broken base64', { owner: 'größe' }, { 'mcp-param-owner': '=?base64?***?=' }],
  ])(
    'a request is refused when the header that mirrors an argument is %s',
    async (_what, values, headers) => {
      const site = await open({ tools });
      const request = modernPost('tools/call', { name: 'list_issues', arguments: values }, headers);
      expect(await codeOf(await site.send(request))).toEqual({ status: 400, code: -32020 });
    },
  );

  test('the older revision neither knows nor needs these headers', async () => {
    const site = await open({ tools });
    const request = legacyPost(
      'tools/call',
      { name: 'list_issues', arguments: args },
      { 'mcp-name': 'get_time' },
    );
    expect(await codeOf(await site.send(request))).toEqual({ status: 200, code: undefined });
  });
});
