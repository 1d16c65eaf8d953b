/** The head of a request to a server on this machine. */
export interface RawHead {
  readonly port: number;
  readonly key?: string | undefined;
  /** `POST` unless set. */
  readonly method?: string;
  /** The endpoint unless set. */
  readonly path?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How many bytes of body follow. */
  readonly length: number;
}

/** The bytes of a head; headers that are given replace the usual ones. */
export function rawRequest({ port, key, method = 'POST', path = '/mcp', headers, length }: RawHead): Buffer {
  const fields = {
    host: `127.0.0.1:${port}`,
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    accept: 'application/json, text/event-stream',
    ...(method === 'POST' && { 'content-type': 'application/json', 'content-length': String(length) }),
    ...headers,
  };
  const lines = [
    `${method} ${path} HTTP/1.1`,
    ...Object.entries(fields).map((field) => field.join(': ')),
    '',
    '',
  ];
  return Buffer.from(lines.join('\r\n'), 'latin1');
}
