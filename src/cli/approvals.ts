import type { Approval } from '../core/approval.ts';
import { ToolcribError } from '../core/errors.ts';
import { escapeUnseen } from '../core/escape-unseen.ts';
import { loadDeployment, lookUp, withDeployment, type DeploymentFlags } from './deployment.ts';
import { formatTime, printable } from './table.ts';

/** What `toolcrib approvals list` may be told. */
export interface ListApprovalsFlags extends DeploymentFlags {
  readonly tenant?: string;
}

/** `toolcrib approvals list`: the calls that wait for somebody to agree, with all of their arguments. */
export async function listApprovals(flags: ListApprovalsFlags): Promise<void> {
  const all = await lookUp(flags, ({ listApprovals: list }) => list());
  const shown = all.filter(({ tenant }) => flags.tenant === undefined || tenant === flags.tenant);
  if (flags.json) process.stdout.write(toJson(shown.map(factsOf)));
  else if (shown.length === 0) process.stdout.write('No call waits to be approved.\n');
  else process.stdout.write(shown.map(describe).join('\n'));
}

/** `toolcrib approvals approve` and `deny`: decides about one call, once. */
export async function decideApproval(id: string, isApproved: boolean, flags: DeploymentFlags): Promise<void> {
  const { approve } = (await loadDeployment(flags.config)).config.stages;
  if (approve === false || approve.mode !== 'operator')
    throw new ToolcribError(
      'invalid_setup',
      `Nothing waits to be approved: ${flags.config} does not set stages.approve.mode to "operator".`,
    );
  await withDeployment(flags, async ({ store, operate, operator }) => {
    const asked = (await store.approvals.list()).find((approval) => approval.id === id);
    checkOpen(id, asked);
    if (asked.caller === operator)
      throw new ToolcribError('invalid_setup', `${operator} asked for ${id}; somebody else has to decide.`);
    const at = Date.now();
    const decision = { isApproved, by: operator, at, expiresAt: at + approve.expireMinutes * 60_000 };
    const { tenant, caller, tool, subject } = asked;
    const did = isApproved ? 'call approved' : 'call denied';
    const decided = await operate(store.approvals.decide(id, decision), {
      did,
      approval: id,
      tenant,
      caller,
      tool,
      subject,
    });
    if (!decided) throw new ToolcribError('invalid_setup', `${id} was decided by somebody else meanwhile.`);
    process.stdout.write(flags.json ? toJson(factsOf(decided)) : describe(decided));
  });
}

function checkOpen(id: string, asked: Approval | undefined): asserts asked is Approval {
  if (asked && !asked.decision) return;
  const text = asked
    ? `${id} was ${statusOf(asked)} before.`
    : `No call waits as "${printable(id).slice(0, 80)}": it was made, or has run out; see: toolcrib approvals list`;
  throw new ToolcribError('invalid_setup', text);
}

// Arguments are shown whole and to the letter: what is cut off or cannot be seen could not be agreed to.
function describe(approval: Approval): string {
  const { id, tool, caller, tenant, expiresAt, arguments: args } = approval;
  const asked = `${printable(tool)} for ${printable(caller)} of ${printable(tenant)}`;
  return [
    `${id}  ${statusOf(approval)} until ${formatTime(expiresAt)}  ${asked}`,
    `  ${escapeUnseen(args)}`,
    '',
  ].join('\n');
}

function statusOf({ decision }: Approval): string {
  if (!decision) return 'waits';
  return `${decision.isApproved ? 'approved' : 'denied'} by ${printable(decision.by)}`;
}

function factsOf({ owner: _owner, subject, arguments: args, ...approval }: Approval): object {
  return { ...approval, subject, arguments: JSON.parse(args) as unknown };
}

function toJson(value: object): string {
  return `${JSON.stringify(value, undefined, 2).split('\n').map(escapeUnseen).join('\n')}\n`;
}
