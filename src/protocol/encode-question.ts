import type { Question } from '../core/question.ts';
import type { JsonObject } from './json-rpc.ts';
import type { Features } from './revision.ts';

/** A question as a request to the client; `undefined` where the revision has no such question. */
export function encodeQuestion(
  question: Question,
  { elicitation }: Features,
): { method: string; params?: JsonObject } | undefined {
  switch (question.kind) {
    case 'form': {
      if (elicitation === 'none') return undefined;
      const params = { message: question.message, requestedSchema: question.schema };
      return {
        method: 'elicitation/create',
        params: elicitation === 'modes' ? { mode: 'form', ...params } : params,
      };
    }
    case 'url':
      if (elicitation !== 'modes') return undefined;
      return {
        method: 'elicitation/create',
        params: { mode: 'url', message: question.message, url: question.url },
      };
    case 'sample':
      return { method: 'sampling/createMessage', params: question.params };
    case 'roots':
      return { method: 'roots/list' };
  }
}
