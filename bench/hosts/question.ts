/** The hosts that are compared. */
export type HostName = 'own' | 'ai';

/** Answers one question; returns what the model was sent. */
export type Ask = () => Promise<unknown>;

/** A tool that both hosts offer. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly schema: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, { readonly type: 'string'; readonly description: string }>>;
    readonly required: readonly string[];
    readonly additionalProperties: false;
  };
}

const TOOLS = 64;
const CALLS = 10;

/** What the model is asked. */
export const prompt = 'Look all ten of them up, and say whether they are there.';

/** What the agent is told. */
export const instructions = 'You look things up, and answer in one sentence.';

/** What the model says in the end. */
export const answer = 'All ten are there.';

/** The tools that are offered. */
export const offered: readonly OfferedTool[] = Array.from({ length: TOOLS }, (_, index) => ({
  name: `look_up_${index}`,
  description: `Looks a record of collection ${index} up by its id. Returns its title and its state.`,
  schema: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'The id of the record.' },
      field: { type: 'string', description: 'The field that is wanted.' },
    },
    required: ['id'],
    additionalProperties: false,
  },
}));

/** The calls of the model's first turn. */
export const calls = Array.from({ length: CALLS }, (_, index) => ({
  id: `call_${index}`,
  name: `look_up_${index * 6}`,
  arguments: { id: `record-${index}`, field: 'title' },
}));

/** What every tool returns. */
export function lookUp({ id }: { readonly id: string }): string {
  return `The record ${id} is there, with the title "A record" and the state "open".`;
}
