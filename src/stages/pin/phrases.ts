import type { ScanKind } from './scan.ts';

/** A phrase that was found. */
export interface FoundPhrase {
  readonly kind: ScanKind;
  readonly phrase: string;
}

/** The words of a text in lower case; an apostrophe joins what is around it. */
export function plainWordsOf(lower: string): readonly string[] {
  return lower.replaceAll(/['’]/g, '').match(/[\p{L}\p{N}_-]+/gu) ?? [];
}

/** The phrases of poisoned definitions in a list of words, each once. */
export function phraseIn(words: readonly string[]): readonly FoundPhrase[] {
  return PHRASES.flatMap(({ kind, steps, gap }) => {
    for (let at = 0; at < words.length; at++) {
      const end = endOf(words, at, { steps, gap });
      if (end !== undefined) return [{ kind, phrase: words.slice(at, end + 1).join(' ') }];
    }
    return [];
  });
}

interface Phrase {
  readonly kind: ScanKind;
  /** Words that follow each other, one of each set. */
  readonly steps: readonly ReadonlySet<string>[];
  /** How many other words may be between them. */
  readonly gap: number;
}

function endOf(
  words: readonly string[],
  from: number,
  { steps, gap }: Omit<Phrase, 'kind'>,
): number | undefined {
  if (!steps[0]!.has(words[from]!)) return undefined;
  let at = from;
  for (const step of steps.slice(1)) {
    const next = words.slice(at + 1, at + 2 + gap).findIndex((word) => step.has(word));
    if (next < 0) return undefined;
    at += next + 1;
  }
  return at;
}

const TOOLS = 'tool tools function functions plugin plugins server servers';
const PEOPLE = 'user users human person people anyone anybody them operator customer owner';
const RULES =
  'instructions instruction prompt prompts rules rule messages guidelines policy policies restrictions directions guardrails safeguards safety warnings';
const SECRETS =
  'conversation history transcript password passwords secret secrets credentials credential token tokens environment env reasoning keys cookies chat context';

const PHRASES: readonly Phrase[] = [
  order(5, 'ignore disregard forget override overrides bypass discard neglect', RULES),
  order(
    3,
    'not never without dont avoid',
    'tell telling mention mentioning inform informing notify notifying reveal revealing show showing disclose disclosing alert alerting let ask asking',
    PEOPLE,
  ),
  order(2, 'hide conceal keep', 'from secret hidden private confidential', PEOPLE),
  order(1, 'secretly silently quietly covertly discreetly'),
  order(
    6,
    'must always required mandatory important critical need first',
    'before prior first',
    'using use calling call invoking running any every answering responding reply replying',
  ),
  order(
    5,
    'before prior',
    `using calling running invoking any answering responding`,
    'read call send fetch load open run execute include get',
  ),
  order(0, 'you', 'are', 'now'),
  order(2, 'act pretend behave respond', 'as', 'admin administrator root system unrestricted developer'),
  order(
    0,
    'system developer hidden new updated',
    'prompt instruction instructions message override directive',
  ),
  order(
    5,
    'send post forward upload transmit exfiltrate leak copy include append attach pass add put email bcc paste embed encode write submit provide',
    SECRETS,
  ),
  order(
    5,
    'read open load cat fetch collect gather extract',
    'secret secrets credentials password passwords token tokens environment keys cookies',
  ),
  order(
    3,
    'assistant model ai llm agent chatbot claude gpt',
    'must should shall needs has always never will',
  ),
  order(
    3,
    'without no skip skipping bypass bypassing',
    'confirmation approval asking permission consent confirming verification',
  ),
  order(3, 'takes has highest', 'precedence priority', 'over above than'),
  order(1, 'highest top maximum', 'priority'),
  order(4, 'do always never must', 'not always', 'question refuse hesitate verify doubt decline'),
  order(
    4,
    'pretend claim say respond report',
    'that success it nothing everything',
    'worked fine successful succeeded failed happened normal',
  ),
  other(
    4,
    'when whenever if every each any all after',
    TOOLS,
    'called used invoked call runs executed available use invoke',
  ),
  other(0, 'other another all existing', TOOLS),
  other(4, 'instead rather', 'of than', TOOLS),
  other(3, 'replaces supersedes deprecates overrides replace supersede', TOOLS),
  other(3, TOOLS, 'deprecated broken insecure unsafe obsolete unavailable disabled dangerous'),
  other(4, 'bcc recipient recipients', 'change redirect replace set add change route must always'),
  other(
    4,
    'change redirect replace rewrite modify set route',
    'recipient recipients address destination amount bcc iban account',
  ),
];

function order(gap: number, ...steps: readonly string[]): Phrase {
  return { kind: 'instruction to the model', steps: steps.map(setOf), gap };
}

function other(gap: number, ...steps: readonly string[]): Phrase {
  return { kind: 'reference to other tools', steps: steps.map(setOf), gap };
}

function setOf(words: string): ReadonlySet<string> {
  return new Set(words.split(' '));
}
