import type { Memory } from '../core/memory/memory.ts';
import { parseJson } from '../base/parse-json.ts';
import type { Secrets } from '../observe/secrets.ts';

/**
 * The same memory, with secrets redacted from the descriptions of clients: a credential may be sent as a name.
 */
export function withoutSecrets(memory: Memory, live: Secrets): Memory {
  const { sessions } = memory;
  return {
    ...memory,
    sessions: {
      put(record) {
        const said = JSON.stringify(record.client);
        const safe = live.redact(said);
        return sessions.put(
          said === safe ? record : { ...record, client: parseJson(safe) as typeof record.client },
        );
      },
      get: (id) => sessions.get(id),
      delete: (id) => sessions.delete(id),
    },
  };
}
