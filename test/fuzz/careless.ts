import type { Way } from './case.ts';
import { judge } from './verdict.ts';
import { mutatedMessage, unanswered } from './ways.ts';

/** A server as careless ones are: it says nothing to some messages, or explains what went wrong in it. */
export function careless(how: 'silent' | 'explains'): Way {
  return {
    name: how,
    atOnce: 64,
    make: mutatedMessage,
    async attempt({ steps: [step] }) {
      const text = step!.body.toString();
      if (how === 'silent') return text.includes(']]') ? [unanswered] : [];
      try {
        JSON.parse(text);
        return [];
      } catch (error) {
        const answer = { jsonrpc: '2.0', error: { code: 0, message: (error as Error).stack } };
        return judge(step!.body, { status: 400, text: JSON.stringify(answer) });
      }
    },
    accidents: () => [],
    renew: async () => {},
    close: async () => {},
  };
}
