import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { callBody, deliver, goodCall, versions, type Version } from './attack.ts';
import { leakedAnswers, talk } from './raw-http.ts';
import { product, type Product } from './target.ts';

type Make = (write: Writer) => string;

/** Writes requests whose calls are marked, so that it can be told which of them ran. */
class Writer {
  readonly #version: Version;
  readonly #port: number;

  constructor(version: Version, port: number) {
    this.#version = version;
    this.#port = port;
  }

  body(mark: string): string {
    return callBody(this.#version, { args: { mark } });
  }

  head(...lines: string[]): string {
    const common = [
      `Host: localhost:${this.#port}`,
      'Content-Type: application/json',
      `MCP-Protocol-Version: ${this.#version}`,
      'Mcp-Method: tools/call',
      'Mcp-Name: danger',
    ];
    return ['POST /mcp HTTP/1.1', ...common, ...lines, '', ''].join('\r\n');
  }

  good(mark: string): string {
    return this.head(`Content-Length: ${this.body(mark).length}`) + this.body(mark);
  }

  chunked(mark: string, ...lines: string[]): string {
    return this.head(...(lines.length > 0 ? lines : ['Transfer-Encoding: chunked'])) + this.chunks(mark);
  }

  chunks(mark: string): string {
    return `${this.body(mark).length.toString(16)}\r\n${this.body(mark)}\r\n0\r\n\r\n`;
  }

  withLength(length: string): string {
    return this.head(`Content-Length: ${length}`) + this.body('first');
  }
}

const malformed: readonly [name: string, make: Make][] = [
  ['a length and chunks', (w) => w.chunked('first', 'Content-Length: 4', 'Transfer-Encoding: chunked')],
  ['chunks and a length', (w) => w.chunked('first', 'Transfer-Encoding: chunked', 'Content-Length: 4')],
  [
    'two lengths',
    (w) => w.head('Content-Length: 0', `Content-Length: ${w.body('first').length}`) + w.body('first'),
  ],
  [
    'the same length twice',
    (w) => w.head(...twice(`Content-Length: ${w.body('first').length}`)) + w.body('first'),
  ],
  ['a list of lengths', (w) => w.withLength(`${w.body('first').length}, 0`)],
  ['a length with a plus', (w) => w.withLength(`+${w.body('first').length}`)],
  ['a negative length', (w) => w.withLength('-1')],
  ['a hexadecimal length', (w) => w.withLength('0x10')],
  ['a length with an exponent', (w) => w.withLength('1e2')],
  ['a length with a blank inside', (w) => w.withLength('1 0')],
  ['an empty length', (w) => w.withLength('')],
  ['a length beyond 64 bits', (w) => w.withLength('99999999999999999999')],
  ['no length at all', (w) => w.head() + w.body('first')],
  ['an unknown transfer coding', (w) => w.chunked('first', 'Transfer-Encoding: xchunked')],
  ['a transfer coding of identity', (w) => w.chunked('first', 'Transfer-Encoding: identity')],
  ['chunked and then another coding', (w) => w.chunked('first', 'Transfer-Encoding: chunked, identity')],
  ['another coding and then chunked', (w) => w.chunked('first', 'Transfer-Encoding: identity, chunked')],
  ['a compressed coding and then chunked', (w) => w.chunked('first', 'Transfer-Encoding: gzip, chunked')],
  [
    'another coding on a line before',
    (w) => w.chunked('first', 'Transfer-Encoding: foo', 'Transfer-Encoding: chunked'),
  ],
  ['chunked twice', (w) => w.chunked('first', 'Transfer-Encoding: chunked, chunked')],
  ['chunked on two lines', (w) => w.chunked('first', ...twice('Transfer-Encoding: chunked'))],
  ['chunked with a parameter', (w) => w.chunked('first', 'Transfer-Encoding: chunked;q=1')],
  ['chunked after a vertical tab', (w) => w.chunked('first', 'Transfer-Encoding: \u000bchunked')],
  ['an empty transfer coding', (w) => w.chunked('first', 'Transfer-Encoding: ')],
  ['chunks in HTTP/1.0', (w) => w.chunked('first').replace('HTTP/1.1', 'HTTP/1.0')],
  ['a chunk size with a prefix', (w) => w.chunked('first').replace('\r\n\r\n', '\r\n\r\n0x')],
  [
    'a chunk size with a blank behind',
    (w) => w.head('Transfer-Encoding: chunked') + w.chunks('first').replace('\r\n', ' \r\n'),
  ],
  [
    'a chunk size that ends in a line feed alone',
    (w) => w.head('Transfer-Encoding: chunked') + w.chunks('first').replace('\r\n', '\n'),
  ],
  [
    'a chunk extension with a line feed inside',
    (w) => w.head('Transfer-Encoding: chunked') + w.chunks('first').replace('\r\n', ';a\nb\r\n'),
  ],
  [
    'a chunk size beyond 64 bits',
    (w) => `${w.head('Transfer-Encoding: chunked')}fffffffffffffffff\r\n${w.body('first')}`,
  ],
  ['a chunk without its end', (w) => w.chunked('first').replace('}\r\n0\r\n', '}0\r\n')],
  ['a folded header', (w) => w.good('first').replace('Host:', 'X-Folded: a\r\n b: c\r\nHost:')],
  ['a blank before a colon', (w) => w.good('first').replace('Content-Length:', 'Content-Length :')],
  ['a header without a colon', (w) => w.good('first').replace('Host:', 'Nothing\r\nHost:')],
  ['a header without a name', (w) => w.good('first').replace('Host:', ': a\r\nHost:')],
  ['a header name with a control character', (w) => w.good('first').replace('Host:', 'X\u0001: a\r\nHost:')],
  ['a header value with a NUL', (w) => w.good('first').replace('Host:', 'X: \0\r\nHost:')],
  [
    'a header value with a carriage return',
    (w) => w.good('first').replace('Host:', 'X: a\rHost: b\r\nHost:'),
  ],
  [
    'a header that ends in a line feed alone',
    (w) => w.good('first').replace('application/json\r\n', 'application/json\n'),
  ],
  ['a head of line feeds alone', (w) => w.good('first').replaceAll('\r\n', '\n')],
  ['no Host', (w) => w.good('first').replace(/Host: .*\r\n/, '')],
  ['no version', (w) => w.good('first').replace(' HTTP/1.1', '')],
  ['version 0.9', (w) => w.good('first').replace('HTTP/1.1', 'HTTP/0.9')],
  ['version 1.2', (w) => w.good('first').replace('HTTP/1.1', 'HTTP/1.2')],
  ['version 2.0', (w) => w.good('first').replace('HTTP/1.1', 'HTTP/2.0')],
  ['a protocol in lower case', (w) => w.good('first').replace('HTTP/1.1', 'http/1.1')],
  ['a method in lower case', (w) => w.good('first').replace('POST', 'post')],
  ['an unknown method', (w) => w.good('first').replace('POST', 'CALL')],
  ['CONNECT', (w) => w.good('first').replace('POST /mcp', 'CONNECT localhost:80')],
  ['TRACE', (w) => w.good('first').replace('POST', 'TRACE')],
  ['a target with a blank inside', (w) => w.good('first').replace('/mcp', '/mcp /mcp')],
  ['a target without a slash', (w) => w.good('first').replace('/mcp', 'mcp')],
  ['a target of a star', (w) => w.good('first').replace('/mcp', '*')],
  ['a target with a control character', (w) => w.good('first').replace('/mcp', '/mcp\u0001')],
  ['a target with a byte beyond ASCII', (w) => w.good('first').replace('/mcp', '/mcp\u00ff')],
  ['the preface of HTTP/2', (w) => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${w.body('first')}`],
  ['the start of a TLS handshake', (w) => `\u0016\u0003\u0001\u0002\0\u0001\0${w.body('first')}`],
  ['a head of over 16 KiB', (w) => w.good('first').replace('Host:', `X: ${'x'.repeat(17_000)}\r\nHost:`)],
  ['65 headers', (w) => w.good('first').replace('Host:', `${'X: y\r\n'.repeat(60)}Host:`)],
];

for (const version of versions) {
  for (const [name, make] of malformed) {
    test(`A13 ${name} is refused in ${version}, and neither it nor a request behind it runs`, async () => {
      const { target, write } = await aim(version);
      const answers = await talk(target.port, bytes(make(write) + write.good('second')), { end: true });
      expect(marks(target)).toEqual([]);
      expect(answers.length).toBeLessThanOrEqual(1);
      for (const { status } of answers) expect(status).toBeGreaterThanOrEqual(400);
      expect((await deliver(target, goodCall(version, target.port))).ran).toBe(1);
    });
  }

  test(`A13 control: a lenient parser runs calls that it finds in many of them in ${version}`, async () => {
    const through: string[] = [];
    for (const [name, make] of malformed) if (await runsLeniently(version, make)) through.push(name);
    expect(through).toEqual(
      expect.arrayContaining([
        'a length and chunks',
        'a compressed coding and then chunked',
        'no Host',
        '65 headers',
      ]),
    );
  });

  test(`A13 control: every malformed request of ${version} contains a call that a lenient reader would run`, () => {
    const write = new Writer(version, 80);
    for (const [, make] of malformed) expect(make(write)).toContain('"mark":"first"');
  });
}

describe('several requests on one connection', () => {
  for (const version of versions) {
    test(`A13 two good requests of ${version} sent together run separately and in order`, async () => {
      const { target, write } = await aim(version);
      const last = write.good('third').replace('Host:', 'Connection: close\r\nHost:');
      const answers = await talk(target.port, bytes(write.good('first') + write.chunked('second') + last));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(marks(target)).toEqual(['first', 'second', 'third']);
    });

    test.each<[name: string, spoil: (request: string) => string, status: number]>([
      ['another content type', (request) => request.replace('application/json', 'text/plain'), 415],
      ['a compressed body', (request) => request.replace('Host:', 'Content-Encoding: br\r\nHost:'), 415],
      ['another path', (request) => request.replace('/mcp', '/other'), 404],
      ['another method', (request) => request.replace('POST', 'PUT'), 405],
      [
        'a foreign origin',
        (request) => request.replace('Host:', 'Origin: http://evil.example\r\nHost:'),
        403,
      ],
      [
        'a repeated header',
        (request) => request.replace('Host:', 'Origin: null\r\nOrigin: null\r\nHost:'),
        400,
      ],
    ])(
      `A13 after a request of ${version} is refused for %s, neither its body nor the next request runs`,
      async (_name, spoil, status) => {
        const { target, write } = await aim(version);
        const smuggled = write.good('smuggled');
        const refused = spoil(write.head(`Content-Length: ${smuggled.length}`)) + smuggled;
        const answers = await talk(target.port, bytes(refused + write.good('second')), { end: true });
        expect(answers.map((answer) => answer.status)).toEqual([status]);
        expect(marks(target)).toEqual([]);
      },
    );

    test(`A13 a request inside an argument of ${version} stays an argument`, async () => {
      const { target, write } = await aim(version);
      const inner = `\r\n\r\n0\r\n\r\n${write.good('smuggled')}`;
      const body = callBody(version, { args: { mark: 'first', inner } });
      const outer = write.head(`Content-Length: ${body.length}`, 'Connection: close') + body;
      const answers = await talk(target.port, bytes(outer));
      expect(answers.map(({ status }) => status)).toEqual([200]);
      expect(marks(target)).toEqual(['first']);
      expect(target.source.calls[0]?.arguments['inner']).toBe(inner);
    });

    test(`A13 trailers after the last chunk of ${version} are ignored`, async () => {
      const { target, write } = await aim(version);
      const trailers = 'Host: evil.example\r\nMcp-Name: safe\r\nOrigin: https://evil.example\r\n';
      const request = write.chunked('first', 'Transfer-Encoding: chunked', 'Connection: close');
      const answers = await talk(target.port, bytes(request.replace(/0\r\n\r\n$/, `0\r\n${trailers}\r\n`)));
      expect(answers.map(({ status }) => status)).toEqual([200]);
      expect(marks(target)).toEqual(['first']);
    });
  }
});

test('A13 no refusal reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

async function aim(version: Version): Promise<{ target: Product; write: Writer }> {
  const target = await product();
  return { target, write: new Writer(version, target.port) };
}

function marks({ source }: Product): unknown[] {
  return source.calls.map((call) => call.arguments['mark']);
}

function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

function twice(line: string): [string, string] {
  return [line, line];
}

async function runsLeniently(version: Version, make: Make): Promise<boolean> {
  let hasRun = false;
  const http = createServer({ insecureHTTPParser: true, requireHostHeader: false, maxHeaderSize: 65_536 });
  http.on('request', (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      hasRun ||= body.includes('"mark"');
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  await talk(port, bytes(make(new Writer(version, port))), { end: true });
  return hasRun;
}
