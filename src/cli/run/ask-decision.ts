import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { Decision, DecisionRequest, OnToolCall } from '../../stages/approve/decision.ts';
import type { PersonDialog } from '../client/questions.ts';
import { printable } from '../table.ts';
import { showArguments, showWhole } from './show-arguments.ts';

/** How calls are asked about. */
export interface DecisionDialog extends PersonDialog {
  /** Allows calls that are proven to change nothing, without asking. */
  readonly isYesToReading: boolean;
  /** Called where the person ends the input instead of answering. */
  readonly onEnd: () => void;
}

const MOST_NAMED = 8;

/** Asks the person at a terminal about a call; asks again until the answer is clear. */
export function askDecision(dialog: DecisionDialog): OnToolCall {
  return async (request) => {
    if (dialog.isYesToReading && request.isTrusted && request.hints.readOnlyHint === true) return 'allow';
    dialog.write(`\n${heading(request)}\n${showArguments(request.arguments, request.previous).join('\n')}\n`);
    for (;;) {
      const answer = await dialog.ask(keysFor(request), request.signal);
      if (answer === undefined) {
        dialog.onEnd();
        return 'deny';
      }
      const decision = await decisionOf(answer.trim(), request, dialog);
      if (decision !== undefined) return decision;
    }
  };
}

async function decisionOf(
  answer: string,
  request: DecisionRequest,
  dialog: DecisionDialog,
): Promise<Decision | undefined> {
  const [key = '', ...rest] = answer.split(' ');
  switch (key.toLowerCase()) {
    case 'y':
    case 'yes':
      return 'allow';
    case 'n':
    case 'no': {
      const reason = rest.join(' ').trim();
      return reason === '' ? 'deny' : { kind: 'deny', reason };
    }
    case 'c':
      return { kind: 'allowAlways', scope: 'call' };
    case 't':
      return { kind: 'allowAlways', scope: 'tool' };
    case 's':
      return request.server === undefined ? undefined : { kind: 'allowAlways', scope: 'server' };
    case 'v':
      dialog.write(`${showWhole(request.arguments)}\n`);
      return undefined;
    case 'e':
      return edited(request, dialog);
    default:
      return undefined;
  }
}

async function edited(request: DecisionRequest, dialog: DecisionDialog): Promise<Decision | undefined> {
  const text = await dialog.ask('The arguments as JSON, on one line: ', request.signal);
  if (text === undefined || text.trim() === '') return undefined;
  try {
    const args: unknown = parseJson(text);
    if (isObject(args)) return { kind: 'edit', arguments: args };
  } catch {
    // Said below.
  }
  dialog.write('That is not a JSON object.\n');
  return undefined;
}

// Before "always", a person sees the calls that it covers.
function keysFor({ server, serverTools }: DecisionRequest): string {
  const covered = serverTools.slice(0, MOST_NAMED).map(printable).join(', ');
  const more = serverTools.length > MOST_NAMED ? ` and ${serverTools.length - MOST_NAMED} more` : '';
  const all = server === undefined ? '' : `, this [s]erver (${covered}${more})`;
  return `[y] allow  [n] deny  [e] edit  [v] view all; for an hour allow this [c]all, this [t]ool${all}\n? `;
}

function heading({ tool, server, description, hints, isTrusted }: DecisionRequest): string {
  const from = server === undefined ? 'this program' : printable(server);
  const claims = [
    ...(hints.readOnlyHint === true ? ['only reads'] : []),
    ...(hints.destructiveHint === true && hints.readOnlyHint !== true ? ['may destroy something'] : []),
    ...(hints.openWorldHint === true ? ['reaches beyond its server'] : []),
  ];
  const said =
    claims.length === 0 ? '' : ` It says that it ${claims.join(', ')}${isTrusted ? '' : ' (not trusted)'}.`;
  const about = Array.from(description.split('\n', 1)[0] ?? '')
    .slice(0, 200)
    .join('');
  return `The model wants to call ${printable(tool)} of ${from}: ${printable(about)}${said}`;
}
