const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Whether some bytes are a message, or a list with one in it; judged without anything of the product. */
export function isWellFormed(bytes: Uint8Array): boolean {
  const value = read(bytes);
  return Array.isArray(value) ? value.some(isMessage) : isMessage(value);
}

/** Whether some bytes are a request, or a list with one in it, which must be answered. */
export function isRequest(bytes: Uint8Array): boolean {
  const value = read(bytes);
  return (Array.isArray(value) ? value : [value]).some(
    (message) => isMessage(message) && Object.hasOwn(message, 'id') && Object.hasOwn(message, 'method'),
  );
}

function read(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(strictUtf8.decode(bytes));
  } catch {
    return undefined;
  }
}

function isMessage(value: unknown): value is object {
  if (!isObject(value) || value['jsonrpc'] !== '2.0') return false;
  const { id, method, params } = value;
  if (Object.hasOwn(value, 'id') && typeof id !== 'string' && !Number.isFinite(id)) return false;
  if (!Object.hasOwn(value, 'method'))
    return Object.hasOwn(value, 'id') && (Object.hasOwn(value, 'result') || Object.hasOwn(value, 'error'));
  return typeof method === 'string' && (params === undefined || isObject(params));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
