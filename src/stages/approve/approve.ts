import { z } from 'zod';
import { isAbsent } from '../../core/absent-tool.ts';
import type { ToolCall } from '../../core/call.ts';
import {
  askerOf,
  confirmationFor,
  consentArgument,
  mayDestroy,
  offerConfirmation,
  withoutConsent,
} from '../../core/authoring/confirmation.ts';
import { compileGlob } from '../../base/glob.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { Result } from '../../core/result.ts';
import type { Stage } from '../../core/stage.ts';
import { governedName, type Tool } from '../../core/tool.ts';
import { OperatorQuestion, type ApproveParts } from './ask-operator.ts';

/** Which tools need a confirmation, and how it is given. */
export const approveOptions = z.strictObject({
  mode: z
    .enum(['argument', 'operator'])
    .default('argument')
    .describe(
      'How consent is given: `argument` takes the word of the model, in the argument `confirmed`; `operator` waits for a person with `toolcrib approvals`.',
    ),
  when: z
    .array(z.enum(['destructive']))
    .default(['destructive'])
    .describe('Which kinds of tools ask: `destructive` are those that do not say they are harmless.'),
  tools: z
    .array(z.string().min(1))
    .default([])
    .describe('Names of further tools that ask; `*` stands for any characters.'),
  expireMinutes: z
    .number()
    .min(1)
    .max(1_440)
    .default(5)
    .describe('With `operator`: how long a call waits to be decided, and what was decided for the call.'),
});

/**
 * Lets a tool run only if it is called with `confirmed: true`; other calls get a description of what would be done. In
 * the mode `operator`, a person must approve exactly this call. Tools made with `requireConfirmation` are handled here
 * too, whatever the options say, so that nothing is reserved or written before the confirmation.
 */
export function approve(options: z.input<typeof approveOptions> = {}, parts?: ApproveParts): Stage {
  const { mode, when, tools, expireMinutes } = approveOptions.parse(options, { jitless: true });
  const person = mode === 'operator' ? personOf(parts, expireMinutes * 60_000) : undefined;
  const fits = tools.map(compileGlob);
  const needsAsking = (tool: Tool): boolean =>
    !isAbsent(tool) &&
    ((when.includes('destructive') && mayDestroy(tool)) || fits.some((fit) => fit(governedName(tool))));
  return {
    name: 'approve',
    // The person is asked out of band, so nothing changes for callers.
    ...(!person &&
      (when.length > 0 || fits.length > 0) && {
        viewOf: sameForAll,
        expose: (tool: Tool) => (!askerOf(tool) && needsAsking(tool) ? offerConfirmation(tool) : tool),
      }),
    wrap(tool, last) {
      const asker = askerOf(tool);
      const isAskedFor = needsAsking(tool);
      const next = person && isAskedFor ? person.before(tool, last) : last;
      if (!asker && (person || !isAskedFor)) return next;
      const argument = consentArgument(tool);
      return (call) => {
        // A call that an outer stage has confirmed is not asked again.
        if (call.record.approval === undefined && call.arguments[argument] !== true) return ask(call, tool);
        if (!person) call.record.approval = 'argument';
        // A tool that asks by itself must see that it was confirmed.
        return next(asker === 'tool' ? call : { ...call, arguments: withoutConsent(tool, call.arguments) });
      };
    },
  };
}

function personOf(parts: ApproveParts | undefined, waitMs: number): OperatorQuestion {
  if (parts) return new OperatorQuestion(parts, waitMs);
  const text =
    'approve with the mode "operator" needs somewhere to keep what is asked: { approvals: store.approvals }.';
  throw new ToolcribError('invalid_setup', text);
}

function ask(call: ToolCall, tool: Tool): Result {
  call.record.refusal = 'approval_required';
  return { kind: 'done', data: confirmationFor(tool, call.arguments) };
}

function sameForAll(): string {
  return '';
}
