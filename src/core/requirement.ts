import type { Question } from './question.ts';
import type { Requirement } from './tool.ts';

/** The identifier of the Tasks extension. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

type Capabilities = Readonly<Record<string, unknown>>;

/** Whether a client declared that it can do something. */
export function canDo(capabilities: Capabilities, requirement: Requirement): boolean {
  const elicitation = objectAt(capabilities, 'elicitation');
  switch (requirement) {
    case 'elicitation':
      // An empty object means forms, which came first.
      return elicitation !== undefined && ('form' in elicitation || !('url' in elicitation));
    case 'elicitation.url':
      return elicitation !== undefined && 'url' in elicitation;
    case 'tasks':
      return objectAt(capabilities, 'extensions')?.[TASKS_EXTENSION] !== undefined;
    case 'sampling':
    case 'roots':
      return objectAt(capabilities, requirement) !== undefined;
  }
}

/** The capabilities a client would have to declare, in the form the protocol reports them. */
export function capabilitiesFor(requirements: readonly Requirement[]): Capabilities {
  const needed: Record<string, unknown> = {};
  for (const requirement of requirements) {
    if (requirement === 'tasks') needed['extensions'] = { [TASKS_EXTENSION]: {} };
    else if (requirement === 'elicitation.url')
      needed['elicitation'] = { ...(requirements.includes('elicitation') && { form: {} }), url: {} };
    else needed[requirement] ??= {};
  }
  return needed;
}

/** What a client must be able to do to be asked a question. */
export function requirementOf(question: Question): Requirement {
  switch (question.kind) {
    case 'form':
      return 'elicitation';
    case 'url':
      return 'elicitation.url';
    case 'sample':
      return 'sampling';
    case 'roots':
      return 'roots';
  }
}

function objectAt(capabilities: Capabilities, key: string): Capabilities | undefined {
  const value = capabilities[key];
  return typeof value === 'object' && value !== null ? (value as Capabilities) : undefined;
}
